"""Authentication by SASL (KIP-43, KIP-152): PLAIN, and SCRAM-SHA-256 and -512 (KIP-84, RFC 5802).

- `client`, `server`: the two sides of the exchange of tokens, without a connection.
- `scram`: the arithmetic and the messages of SCRAM, for both sides.
"""
