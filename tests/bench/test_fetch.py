"""``certigap fetch``: what arrives is right or nothing is kept, against a server on this machine."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from instances.catalogue import PublicFile, download, is_present, read_catalogue
from instances.errors import InputError

CONTENT = b"1 2 3\n" * 1000


class Server:
    """A server of a few files on 127.0.0.1, which counts what it was asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.cut: set[str] = set()  # ends in the middle of these
        self.moved: dict[str, str] = {}  # redirects
        self.asked: list[str] = []
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def file(self, name: str, content: bytes = CONTENT, **fields: object) -> PublicFile:
        """Serve a file, and return the entry that describes it truly."""
        self.files["/" + name] = content
        url = f"http://127.0.0.1:{self.http.server_port}/{name}"
        digest = hashlib.sha256(content).hexdigest()
        return PublicFile(name, url, len(content), digest, "own/test", "0" * 40, "MIT", **fields)

    def close(self) -> None:
        """Stop serving."""
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, server: Server, *arguments: object) -> None:
        self.files = server
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        self.files.asked.append(self.path)
        if self.path in self.files.moved:
            self.send_response(302)
            self.send_header("Location", self.files.moved[self.path])
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path in self.files.files:
            content = self.files.files[self.path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if self.path in self.files.cut else content)
        else:
            self.send_error(404)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    """Yield a running server."""
    running = Server()
    yield running
    running.close()


def fetch(file: PublicFile, folder: Path) -> None:
    """Download from this machine."""
    download(file, folder, plain_http=True)


def refusal(file: PublicFile, folder: Path) -> str:
    """Return the one line of a download that fails, after which nothing must be left in the folder."""
    with pytest.raises(InputError) as caught:
        fetch(file, folder)
    assert "\n" not in str(caught.value)
    assert not folder.is_dir() or list(folder.rglob("*")) == []
    return str(caught.value)


def tar_of(name: str, content: bytes = CONTENT, link: str = "") -> bytes:
    """Return a compressed tar archive of one member, a symbolic link if ``link`` is given."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo(name)
        if link:
            member.type, member.linkname = tarfile.SYMTYPE, link
        else:
            member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def zip_of(name: str, content: bytes = CONTENT) -> bytes:
    """Return a zip archive of one member."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, content)
    return packed.getvalue()


def member(server: Server, name: str, archive: bytes, member: str) -> PublicFile:
    """Return the entry of a file that is a member of an archive."""
    digest = hashlib.sha256(CONTENT).hexdigest()
    parts = {"member": member, "member_bytes": len(CONTENT), "member_sha256": digest}
    return replace(server.file("a.archive", archive, stored="member", **parts), name=name)


def test_right_file_is_kept_as_it_is(server: Server, tmp_path: Path) -> None:
    """A download with the right hash arrives byte for byte in its folder, readable, and alone."""
    file = server.file("mmkp/I01")
    fetch(file, tmp_path / "new" / "data")
    assert [p.name for p in (tmp_path / "new/data").rglob("*") if p.is_file()] == ["I01"]
    assert (tmp_path / "new/data/mmkp/I01").read_bytes() == CONTENT
    assert is_present(file, tmp_path / "new/data")


def test_compressed_copy_counts_by_its_content(server: Server, tmp_path: Path) -> None:
    """A file that is kept compressed is the same one whoever compressed it, and a damaged one is not."""
    file = replace(server.file("t.txt", stored="gzip"), name="t.txt.gz")
    fetch(file, tmp_path)
    path = tmp_path / "t.txt.gz"
    assert gzip.decompress(path.read_bytes()) == CONTENT
    assert is_present(file, tmp_path)
    path.write_bytes(gzip.compress(CONTENT, 1))
    assert is_present(file, tmp_path)
    for damaged in (gzip.compress(CONTENT + b"1"), gzip.compress(CONTENT)[:-9], CONTENT, b""):
        path.write_bytes(damaged)
        assert not is_present(file, tmp_path)


@pytest.mark.parametrize("pack", [tar_of, zip_of])
def test_member_of_an_archive_is_unpacked(server: Server, tmp_path: Path, pack: object) -> None:
    """Of an archive only the member that the catalogue names is kept, under the catalogue's name."""
    file = member(server, "khan/I01", pack("data/I01"), "data/I01")  # type: ignore[operator]
    fetch(file, tmp_path)
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [tmp_path / "khan/I01"]
    assert is_present(file, tmp_path)


def test_wrong_file_is_replaced(server: Server, tmp_path: Path) -> None:
    """A file with another content is not taken for present, and a download replaces it."""
    file = server.file("I01")
    (tmp_path / "I01").write_bytes(CONTENT[:-1] + b"x")
    assert not is_present(file, tmp_path)
    fetch(file, tmp_path)
    assert is_present(file, tmp_path)


def test_wrong_hash_is_refused(server: Server, tmp_path: Path) -> None:
    """Other content of the right length is refused with the hash that was expected."""
    file = replace(server.file("I01"), sha256="0" * 64)
    assert refusal(file, tmp_path) == (f"I01: found another content at 127.0.0.1, expected sha256 {'0' * 64}")


def test_failed_download_keeps_the_old_file(server: Server, tmp_path: Path) -> None:
    """A refused download leaves the file that was there before."""
    (tmp_path / "I01").write_bytes(b"old")
    with pytest.raises(InputError):
        fetch(replace(server.file("I01"), sha256="0" * 64), tmp_path)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("I01", b"old")]


def test_truncated_file_is_refused(server: Server, tmp_path: Path) -> None:
    """A file that is too short, and a connection that ends in the middle, are refused as truncated."""
    file = server.file("I01")
    server.files["/I01"] = CONTENT[:3000]
    found = "I01: found a truncated file"
    assert refusal(file, tmp_path) == f"{found} of 3000 bytes at 127.0.0.1, expected 6000 bytes"
    server.files["/I01"] = CONTENT
    server.cut.add("/I01")
    assert refusal(file, tmp_path) == f"{found}, the connection ended early, expected 6000 bytes"


def test_longer_file_is_not_read_to_its_end(server: Server, tmp_path: Path) -> None:
    """A file that is longer than the catalogue says is refused as soon as that shows."""
    file = server.file("I01")
    server.files["/I01"] = CONTENT * 5000
    assert refusal(file, tmp_path) == "I01: found a longer file at 127.0.0.1, expected 6000 bytes"


def test_missing_file_and_no_network_are_one_line(server: Server, tmp_path: Path) -> None:
    """A file that the server lacks, and a server that does not answer, are told apart."""
    file = server.file("I01")
    del server.files["/I01"]
    expected = "I01: found no answer from 127.0.0.1 (HTTP status 404), expected a download"
    assert refusal(file, tmp_path) == expected
    gone = replace(file, url="http://127.0.0.1:9/I01")
    assert refusal(gone, tmp_path) == expected.replace("HTTP status 404", "ConnectionError")


def test_redirection_is_not_followed(server: Server, tmp_path: Path) -> None:
    """A server cannot send the download to another address."""
    file = server.file("I01")
    server.moved["/I01"] = server.file("other").url
    assert refusal(file, tmp_path).startswith("I01: found a truncated file of 0 bytes")
    assert server.asked == ["/I01"]


def test_only_https(server: Server, tmp_path: Path) -> None:
    """An address without https is refused before anything is asked, and this machine's own unless allowed."""
    file = server.file("I01")
    with pytest.raises(InputError, match="expected one with https"):
        download(file, tmp_path)
    for url in ("http://example.org/I01", "ftp://127.0.0.1/I01", "file:///etc/passwd"):
        assert refusal(replace(file, url=url), tmp_path).endswith("expected one with https")
    assert server.asked == []


@pytest.mark.parametrize("name", ["../I01", "/tmp/I01", "a/../../I01", "C:/I01", "..\\I01"])
def test_names_stay_in_their_folder(server: Server, tmp_path: Path, name: str) -> None:
    """Neither a file's name nor a member's leads out of the folder, whatever the archive holds."""
    file = replace(server.file("I01"), name=name)
    assert refusal(file, tmp_path / "data").endswith("expected one inside its folder")
    inside = member(server, "I01", tar_of(name), name)
    assert refusal(inside, tmp_path / "data").endswith("expected one inside its folder")
    assert list(tmp_path.rglob("I01")) == []


@pytest.mark.parametrize(
    "archive",
    [
        tar_of("data/I01", link="../../../../etc/passwd"),
        tar_of("../I01"),
        zip_of("../data/I01"),
        tar_of("I01"),
    ],
)
def test_member_must_be_there_and_regular(server: Server, tmp_path: Path, archive: bytes) -> None:
    """A link in the member's place, a member that climbs, and a missing one are refused."""
    file = member(server, "I01", archive, "data/I01")
    assert refusal(file, tmp_path) == "I01: found no regular file data/I01 in the archive, expected one"


def test_archive_is_verified_before_it_is_unpacked(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An archive with a wrong hash is not even opened."""
    file = replace(member(server, "I01", tar_of("data/I01"), "data/I01"), sha256="0" * 64)
    monkeypatch.setattr(tarfile, "open", lambda *_: pytest.fail("opened"))
    monkeypatch.setattr(zipfile, "is_zipfile", lambda *_: pytest.fail("opened"))
    assert "found another content" in refusal(file, tmp_path)


def test_wrong_member_and_damaged_archive(server: Server, tmp_path: Path) -> None:
    """A member with another content, and an archive that cannot be unpacked, are refused."""
    other = member(server, "I01", tar_of("data/I01", CONTENT * 2), "data/I01")
    assert refusal(other, tmp_path).startswith("I01: found another data/I01 in the archive, expected sha256")
    damaged = member(server, "I01", b"no archive", "data/I01")
    assert refusal(damaged, tmp_path).startswith("I01: found ReadError in the archive")


def test_folder_that_cannot_be_written(server: Server, tmp_path: Path) -> None:
    """A data folder that is a file is refused in one line."""
    (tmp_path / "data").write_text("in the way")
    with pytest.raises(InputError, match=r"data: found .*, expected a folder to write to"):
        fetch(server.file("I01"), tmp_path / "data")
    assert (tmp_path / "data").read_text() == "in the way"


def certigap_fetch(folder: Path | None, *names: str, cache: Path | None = None) -> tuple[int, str, str]:
    """Run the command's function in a process of its own, with no way to the network."""
    code = (
        "import sys; from bench.commands.fetch import fetch_files; from instances.errors import InputError\n"
        "try: sys.exit(fetch_files(sys.argv[1:]))\n"
        "except InputError as error: print(error, file=sys.stderr); sys.exit(2)"
    )
    environment = {k: v for k, v in os.environ.items() if k != "CERTIGAP_DATA"}
    environment |= {"CERTIGAP_DATA": str(folder)} if folder else {}
    environment |= {"XDG_CACHE_HOME": str(cache)} if cache else {}
    environment |= {"https_proxy": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9", "no_proxy": ""}
    done = subprocess.run(
        [sys.executable, "-c", code, *names], capture_output=True, text=True, env=environment, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


def test_command_without_network_is_one_line(tmp_path: Path) -> None:
    """Without a network the command ends with one line that names file and server, and leaves nothing."""
    status, output, errors = certigap_fetch(tmp_path, "mmkp/khan/I01")
    assert (status, output, errors) == (
        2,
        "",
        "mmkp/khan/I01: found no answer from raw.githubusercontent.com (ProxyError), expected a download\n",
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("mmkp/khan/I99", "NAME: found mmkp/khan/I99, expected a file or folder below accuracy, handover, "),
        ("../../etc", "NAME: found ../../etc, expected a file or folder below accuracy, handover, "),
        ("mmkp/best_known.csv", "mmkp/best_known.csv: found no public address (collected by hand"),
    ],
)
def test_unknown_name_is_one_line(tmp_path: Path, name: str, line: str) -> None:
    """A name that the catalogue does not hold, or that nobody serves, is refused in one line."""
    status, output, errors = certigap_fetch(tmp_path, name)
    assert (status, output) == (2, "")
    assert errors.startswith(line)
    assert errors.count("\n") == 1


def test_present_files_are_not_downloaded_again(tmp_path: Path) -> None:
    """Files that are there and right need no network; the last line says where they are."""
    source = os.environ.get("CERTIGAP_DATA", "")
    if not source:
        pytest.skip("CERTIGAP_DATA is not set: no public files to look at")
    status, output, errors = certigap_fetch(Path(source))
    count = len(read_catalogue().files)
    assert (status, errors) == (0, "")
    assert output == (
        f"{count} files verified: 0 downloaded, {count} there already\nfiles in {source} (CERTIGAP_DATA)\n"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the cache folder of this system is not redirected")
def test_user_cache_is_the_default_folder(tmp_path: Path) -> None:
    """Without $CERTIGAP_DATA the files are in the user's cache, and the last line says how to use them."""
    folder = tmp_path / "certigap" / "data"
    file = read_catalogue().files["mmkp/khan/I01"]
    source = os.environ.get("CERTIGAP_DATA", "")
    if not source:
        pytest.skip("CERTIGAP_DATA is not set: no public files to look at")
    (folder / file.name).parent.mkdir(parents=True)
    (folder / file.name).write_bytes((Path(source) / file.name).read_bytes())
    _, output, _ = certigap_fetch(None, file.name, cache=tmp_path)
    assert output.endswith(f"files in {folder}; to use them: export CERTIGAP_DATA='{folder}'\n")
