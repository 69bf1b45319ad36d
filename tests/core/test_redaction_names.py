"""Files whose name says that they hold keys, and files that only sound like it."""

from __future__ import annotations

import pytest

from arr_sql.core.redaction import is_sensitive_folder, is_sensitive_name


@pytest.mark.parametrize(
    "name",
    [
        ".env", ".ENV", ".env.local", ".env.production", "prod.env", ".envrc", "id_rsa", "id_rsa.pub", "id_ed25519",
        "id_ecdsa", "id_dsa", "server.pem", "public.pem", "tls.key", "cert.p12", "cert.pfx", "a.jks", "a.keystore",
        "vault.kdbx", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd", "credentials",
        "credentials.json", ".git-credentials", ".aws/credentials", ".docker/config.json", ".kube/config",
        "service-account.json", "service-account-prod.json", "client_secret_123.json", "terraform.tfstate",
        ".git/config", "home/.aws/credentials",
    ],
)  # fmt: skip
def test_names_of_key_files(name: str) -> None:
    """These are never opened."""
    assert is_sensitive_name(name)


@pytest.mark.parametrize(
    "name",
    [
        ".env.example", ".env.sample", ".env.template", ".env.dist", "prod.env.example", "tokenizer.py", "tokens.md",
        "secretary.txt", "keyboard.md", "environment.yml", "env.py", "config.json", "config", "credentials.py",
        "password_hashing.md", "service-account.md", "monkey.py", "pem.py", "docs/config.json", "keys.csv",
        "tokenizer.json", "notes.md", "密码学.md", "",
    ],
)  # fmt: skip
def test_names_that_only_sound_like_it(name: str) -> None:
    """These are read (and their lines are looked at)."""
    assert not is_sensitive_name(name)


def test_folders() -> None:
    """Whole folders of keys; a virtual environment called ``.env`` is none."""
    assert [
        name for name in (".ssh", ".SSH", ".gnupg", ".aws", ".env", "keys", "src") if is_sensitive_folder(name)
    ] == [
        ".ssh",
        ".SSH",
        ".gnupg",
        ".aws",
    ]
