"""Certificates for servers of tests, by openssl."""

import pathlib

from .runs import output


def openssl(*words: object, folder: pathlib.Path | None = None) -> None:
    """Files are named from `folder`."""
    output("openssl", *words, cwd=folder)


def self_signed(folder: pathlib.Path, name: str, place: str) -> tuple[pathlib.Path, pathlib.Path]:
    """Certificate and key of two days, for the host `name` at `place`, as "IP:127.0.0.1" or "DNS:example.org"."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 2, "-subj", f"/CN={name}", "-addext", f"subjectAltName={place}",
            "-keyout", key, "-out", certificate)
    return certificate, key
