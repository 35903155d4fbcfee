"""Authentication by SASL (KIP-43, KIP-152): PLAIN, and SCRAM-SHA-256 and -512 (KIP-84, RFC 5802).

- `client`, `server`: a mechanism's side of the exchange of tokens, free of any connection.
- `scram`: the arithmetic and the messages that both sides share.
"""
