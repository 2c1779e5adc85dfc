"""Passwords and certificates of etcd, from options of the address or from the environment."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paddle_flags.fleet._url import Url

VARIABLES = {
    "ca": "PADDLE_FLAGS_ETCD_CA",
    "cert": "PADDLE_FLAGS_ETCD_CERT",
    "key": "PADDLE_FLAGS_ETCD_KEY",
    "password_file": "PADDLE_FLAGS_ETCD_PASSWORD_FILE",
}
PASSWORD = "PADDLE_FLAGS_ETCD_PASSWORD"


def options_of(url: Url) -> dict[str, str]:
    """Return the options of an address; the environment has those that are missing."""
    return url.option({name: os.environ.get(of, "") for name, of in VARIABLES.items()})


def password_of(url: Url, options: dict[str, str]) -> str | None:
    """Return the password: of the address, of a file, or of the environment."""
    if url.password is not None or not url.user:
        return url.password
    path = options["password_file"]
    if not path:
        return os.environ.get(PASSWORD)
    try:
        return Path(path).read_text("utf-8").rstrip("\n")
    except OSError as error:
        url.refuse(f"password_file={path}: {error.strerror}")


def tls_of(url: Url, options: dict[str, str]) -> ssl.SSLContext | None:
    """Return how to encrypt, and whom to trust; None without TLS."""
    if url.scheme != "etcds":
        for name in ("ca", "cert", "key"):
            if name in url.options:
                url.refuse(f"{name} is for TLS: expected etcds://")
        return None
    step = "ca"
    try:
        context = ssl.create_default_context(cafile=options["ca"] or None)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        step = "cert"
        if options["cert"]:
            context.load_cert_chain(options["cert"], options["key"] or None)
    except OSError as error:  # ssl.SSLError, too
        url.refuse(f"{step}={options[step]}: {error.strerror or error}")
    return context
