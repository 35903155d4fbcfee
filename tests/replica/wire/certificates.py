"""Authorities and certificates made for a test by openssl."""

from __future__ import annotations

import subprocess

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-batch", "-nodes")
_DAYS = ("-days", "30")


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_authority(folder, name):
    """Makes NAME.pem and NAME.key."""
    files = ("-keyout", f"{name}.key", "-out", f"{name}.pem")
    openssl(folder, "req", "-x509", *_KEY, *_DAYS, "-subj", f"/CN={name}", *files)


def make_certificate(folder, name, subject, authority="ca", days=30):
    """Makes NAME.pem for 127.0.0.1, NAME.key, and NAME.both.pem with both, as in Kafka's key
    stores. days: until it expires; below 0 for an expired one."""
    request = ("-keyout", f"{name}.key", "-out", f"{name}.csr")
    openssl(folder, "req", *_KEY, "-subj", subject, *request)
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    signed_by = ("-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-CAcreateserial")
    to_file = ("-days", str(days), "-extfile", "names", "-out", f"{name}.pem")
    openssl(folder, "x509", "-req", "-in", f"{name}.csr", *signed_by, *to_file)
    both = folder / f"{name}.both.pem"
    both.write_text((folder / f"{name}.key").read_text() + (folder / f"{name}.pem").read_text())
    both.chmod(0o600)
    return both
