"""Public files: the catalogue of what there is, and downloads that are verified before they are kept."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tarfile
import tempfile
import tomllib
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import quote, urlsplit

import platformdirs

from instances.errors import InputError, shown

__all__ = [
    "CATALOGUE",
    "Catalogue",
    "PublicFile",
    "choose",
    "download",
    "is_present",
    "public_folder",
    "read_catalogue",
]

CATALOGUE = Path(__file__).with_suffix(".toml")
TIMEOUT_S = 30
_CHUNK = 2**16


@dataclass(frozen=True)
class PublicFile:
    """One file of a public repository at a pinned commit."""

    name: str  # its path below the data folder
    url: str
    bytes: int  # of the download
    sha256: str  # of the download
    repository: str
    commit: str
    licence: str
    stored: str = "as-is"  # how the download is kept: as-is, gzip or member
    member: str = ""  # name in the archive that is downloaded
    member_bytes: int = 0
    member_sha256: str = ""


@dataclass(frozen=True)
class Catalogue:
    """What can be downloaded, and what cannot with the reason; both by name."""

    files: dict[str, PublicFile]
    elsewhere: dict[str, str]


@cache
def read_catalogue(path: Path = CATALOGUE) -> Catalogue:
    """Return the catalogue.

    Raises
    ------
    InputError
        For a name or a member that would leave its folder.
    """
    with path.open("rb") as file:
        document = tomllib.load(file)
    files: dict[str, PublicFile] = {}
    for origin in document.get("origin", []):
        shared = {key: origin[key] for key in ("repository", "commit", "licence")}
        for entry in origin["files"]:
            rest = {key: value for key, value in entry.items() if key != "path"}
            files[entry["name"]] = PublicFile(url=origin["url"] + quote(entry["path"]), **shared, **rest)
    for entry in files.values():
        _stay_inside(entry.name, entry.name)
        if entry.stored == "member":
            _stay_inside(entry.name, entry.member)
    groups = document.get("not_downloadable", [])
    return Catalogue(files, {name: group["reason"] for group in groups for name in group["files"]})


def public_folder() -> Path:
    """Return the folder of public files: $CERTIGAP_DATA, or one in the user's cache."""
    value = os.environ.get("CERTIGAP_DATA", "")
    return Path(value) if value else Path(platformdirs.user_cache_dir("certigap")) / "data"


def choose(catalogue: Catalogue, names: list[str]) -> list[PublicFile]:
    """Return the files of the given names, or below folders of these names; all without a name.

    Raises
    ------
    InputError
        For a name that is unknown, or that no public repository holds.
    """
    if not names:
        return list(catalogue.files.values())
    chosen: dict[str, PublicFile] = {}
    for name in names:
        folder = name.rstrip("/") + "/"
        found = {n: f for n, f in catalogue.files.items() if n == name or n.startswith(folder)}
        if name in catalogue.elsewhere:
            raise InputError(
                f"{name}: found no public address ({catalogue.elsewhere[name]}), expected a file to download"
            )
        if not found:
            tops = sorted({n.partition("/")[0] for n in catalogue.files})
            raise InputError(f"NAME: found {shown(name)}, expected a file or folder below {', '.join(tops)}")
        chosen |= found
    return list(chosen.values())


def is_present(file: PublicFile, folder: Path) -> bool:
    """Return whether the file is there with the right content; a compressed copy counts by what it holds."""
    path = folder / file.name
    if not path.is_file():
        return False
    digest, size = (
        (file.member_sha256, file.member_bytes) if file.stored == "member" else (file.sha256, file.bytes)
    )
    try:
        with gzip.open(path) if file.stored == "gzip" else path.open("rb") as stream:
            return _digest(stream, size) == digest  # type: ignore[arg-type]
    except (OSError, EOFError, zlib.error):
        return False


def download(file: PublicFile, folder: Path, *, plain_http: bool = False) -> None:
    """Download a file, verify it, and only then unpack and keep it; a failure leaves nothing behind.

    Parameters
    ----------
    file : PublicFile
        An entry of the catalogue.
    folder : Path
        The data folder, made if it is missing.
    plain_http : bool
        Allow ``http`` from this machine itself, for tests.

    Raises
    ------
    InputError
        In one line, for an address that is not https, a failed or cut connection, a wrong hash, an archive
        without the member, and a folder that cannot be written.
    """
    _stay_inside(file.name, file.name)
    address = urlsplit(file.url)
    local = plain_http and address.scheme == "http" and address.hostname == "127.0.0.1"
    if address.scheme != "https" and not local:
        raise InputError(f"{file.name}: found the address {shown(file.url)}, expected one with https")
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".certigap-") as scratch:
            received = _receive(file, Path(scratch), address.hostname or "")
            kept = _unpacked(file, received, Path(scratch))
            target = folder / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            os.chmod(kept, 0o644)
            os.replace(kept, target)


def _stay_inside(place: str, name: str) -> None:
    """Refuse a name that could lead out of its folder, on any system."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\\" in name or ":" in name:
        raise InputError(f"{place}: found the name {shown(name)}, expected one inside its folder")


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{folder}: found {reason}, expected a folder to write to") from None


class _TooLongError(Exception):
    """More arrives than the catalogue says."""


class _Receiver:
    """How pooch downloads: no redirection, and no more than is expected, so that no server fills the disk."""

    def __init__(self, limit: int) -> None:
        self.limit, self.received = limit, 0

    def __call__(self, url: str, output: str, _: Any) -> None:
        import pooch

        fetch = pooch.HTTPDownloader(timeout=TIMEOUT_S, chunk_size=_CHUNK, allow_redirects=False)
        with Path(output).open("wb") as self.stream:
            fetch(url, self, None)

    def write(self, chunk: bytes) -> None:
        self.received += len(chunk)
        if self.received > self.limit:
            raise _TooLongError
        self.stream.write(chunk)

    def flush(self) -> None:
        self.stream.flush()


def _receive(file: PublicFile, scratch: Path, host: str) -> Path:
    """Download into ``scratch`` with pooch, which checks the hash."""
    import pooch
    from requests.exceptions import ChunkedEncodingError, RequestException

    pooch.get_logger().setLevel("WARNING")
    receiver = _Receiver(file.bytes)
    known = f"sha256:{file.sha256}"
    try:
        return Path(pooch.retrieve(file.url, known, "download", scratch, downloader=receiver))
    except _TooLongError:
        found = f"a longer file at {host}"
    except ChunkedEncodingError:
        found = "a truncated file, the connection ended early"
    except RequestException as error:
        found = f"found no answer from {host} ({_reason(error)}), expected a download"
        raise InputError(f"{file.name}: {found}") from None
    except ValueError:
        if receiver.received == file.bytes:
            found = f"found another content at {host}, expected sha256 {file.sha256}"
            raise InputError(f"{file.name}: {found}") from None
        found = f"a truncated file of {receiver.received} bytes at {host}"
    raise InputError(f"{file.name}: found {found}, expected {file.bytes} bytes")


def _reason(error: Exception) -> str:
    response = getattr(error, "response", None)
    if response is not None:
        return f"HTTP status {response.status_code}"
    return type(error).__name__


def _unpacked(file: PublicFile, received: Path, scratch: Path) -> Path:
    """Return the path of what is kept of a verified download."""
    if file.stored == "as-is":
        return received
    kept = scratch / "kept"
    if file.stored == "gzip":
        with (
            received.open("rb") as source,
            kept.open("wb") as target,
            gzip.GzipFile("", "wb", 9, target, mtime=0) as packed,
        ):
            shutil.copyfileobj(source, packed)
        return kept
    try:
        with _member(file, received) as source:
            content = source.read(file.member_bytes + 1)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"{file.name}: found {type(error).__name__} in the archive, expected to unpack it"
        ) from None
    if hashlib.sha256(content).hexdigest() != file.member_sha256:
        raise InputError(
            f"{file.name}: found another {file.member} in the archive, expected sha256 {file.member_sha256}"
        )
    kept.write_bytes(content)
    return kept


@contextmanager
def _member(file: PublicFile, archive: Path) -> Iterator[IO[bytes]]:
    """Open the one member that the catalogue names, if it is a regular file; no other is looked at."""
    _stay_inside(file.name, file.member)
    missing = InputError(
        f"{file.name}: found no regular file {shown(file.member)} in the archive, expected one"
    )
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            if file.member not in packed.namelist():
                raise missing
            with packed.open(file.member) as stream:
                yield stream
        return
    with tarfile.open(archive) as bundle:
        found = next((m for m in bundle if m.name == file.member), None)
        content = bundle.extractfile(found) if found is not None and found.isreg() else None
        if content is None:
            raise missing
        yield content


def _digest(stream: IO[bytes], size: int) -> str:
    """Return the sha256 of a stream of ``size`` bytes, empty when it is shorter or longer."""
    digest, left = hashlib.sha256(), size
    while chunk := stream.read(min(_CHUNK, left + 1)):
        left -= len(chunk)
        if left < 0:
            return ""
        digest.update(chunk)
    return "" if left else digest.hexdigest()
