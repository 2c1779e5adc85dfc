"""Certificates for tests, made by openssl."""

from __future__ import annotations

from pathlib import Path

import support

USES = "extendedKeyUsage=serverAuth,clientAuth"
NAMES = "subjectAltName=IP:127.0.0.1,DNS:localhost"


def authority(place: Path, name: str) -> Path:
    """Make a certificate authority; return its certificate. The key lies beside it."""
    made = place / f"{name}.pem"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    words += ["-addext", "keyUsage=critical,keyCertSign,cRLSign"]
    support.run(support.tool("openssl"), *words, "-keyout", made.with_suffix(".key"), "-out", made)
    return made


def certificate(ca: Path, name: str, subject: str) -> Path:
    """Make a certificate for servers and clients; return it. The key lies beside it."""
    made = ca.with_name(f"{name}.pem")
    request, extra = made.with_suffix(".csr"), made.with_suffix(".ext")
    extra.write_text(f"{USES}\n{NAMES}\n")
    openssl, key = support.tool("openssl"), made.with_suffix(".key")
    words = ["req", "-newkey", "rsa:2048", "-nodes", "-subj", subject]
    support.run(openssl, *words, "-keyout", key, "-out", request)
    words = ["x509", "-req", "-days", "2", "-in", request, "-CA", ca, "-CAcreateserial"]
    support.run(openssl, *words, "-CAkey", ca.with_suffix(".key"), "-extfile", extra, "-out", made)
    return made
