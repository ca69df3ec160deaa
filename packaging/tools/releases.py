"""Checks of install.sh with downloads: a server of release files with its own certificate, and a stand-in for gh."""

import contextlib
import http.server
import pathlib
import shutil
import ssl
import subprocess
import threading

from exercise import expect

# The programs that install.sh needs, without those that download.
PROGRAMS = ("sh", "uname", "mktemp", "rm", "grep", "head", "sha256sum", "cut", "tar", "gzip", "mkdir", "cp", "chmod",
            "mv", "cat", "sed")


class ReleaseFiles(http.server.BaseHTTPRequestHandler):
    """Serves the files of a folder. A path /hops/N/NAME redirects N times before."""

    def do_GET(self):
        server = self.server
        server.paths.append(self.path)
        *_, hops, name = self.path.split("/")
        body, location = b"", None
        if hops.isdecimal() and int(hops) > 0:
            location = f"{server.redirect_to}/{int(hops) - 1}/{name}"
        elif not hops.isdecimal():
            location = f"{server.redirect_to}/{server.hops - 1}/{name}"
        else:
            body = (server.folder / name).read_bytes()
        self.send_response(302 if location else 200)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(folder, certificate=None):
    """Serves a folder, over TLS if there is a certificate. Yields the server."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), ReleaseFiles)
    server.folder, server.paths, server.hops = folder, [], 2
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.url = f"{'https' if certificate else 'http'}://localhost:{server.server_address[1]}"
    server.redirect_to = server.url
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def make_certificate(place):
    """Returns a file with a key and a certificate of localhost."""
    file = place / "localhost.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
               "-addext", "subjectAltName=DNS:localhost", "-keyout", file, "-out", file.with_suffix(".crt")]
    subprocess.run(command, check=True, capture_output=True)
    file.write_bytes(file.read_bytes() + file.with_suffix(".crt").read_bytes())
    return file


def programs(place, *names):
    """Returns a folder with only these programs."""
    folder = place / f"programs-{'-'.join(names)}"
    folder.mkdir()
    for name in [*PROGRAMS, *names]:
        (folder / name).symlink_to(shutil.which(name))
    return folder


def check_downloads(script, packages, place, path):
    """Checks that curl and wget install over https, and follow no redirect to http, however the files look."""
    certificate = make_certificate(place)
    home = place / "downloads"
    home.mkdir()
    (home / ".wgetrc").write_text(f"ca_certificate = {certificate.with_suffix('.crt')}\n")
    with served(packages, certificate) as secure, served(packages) as plain:
        copy = place / "install-from-localhost.sh"
        text = script.read_text()
        address = "releases=https://github.com/$repository/releases\n"
        expect(text.count(address) == 1, "install.sh has no line with the address of the releases")
        copy.write_text(text.replace(address, f"releases={secure.url}\n"))
        for tool in ("curl", "wget"):
            environment = {"PATH": str(programs(place, tool)), "HOME": str(home),
                           "CURL_CA_BUNDLE": str(certificate.with_suffix(".crt"))}
            prefix = place / f"installed-by-{tool}"
            install = lambda: subprocess.run(["sh", copy, "--prefix", prefix], env=environment, capture_output=True,
                                             text=True, check=False)
            secure.redirect_to, secure.hops = plain.url, 1
            refused = install()
            expect(refused.returncode == 1 and not prefix.exists(), f"{tool}, a redirect to http: {refused}")
            expect(plain.paths == [], f"{tool} has followed a redirect to http: {plain.paths}")
            secure.redirect_to, secure.hops = secure.url, 6
            expect(install().returncode == 1 and not prefix.exists(), f"{tool} follows 6 redirects")
            secure.hops = 2
            installed = install()
            expect(installed.returncode == 0 and (prefix / "bin/memory").is_file(), f"{tool}: {installed}")
    print("install.sh: curl and wget install over https, and refuse a redirect to http")


def check_provenance(script, packages, place, path):
    """Checks that --provenance asks gh about the archive, and that its refusal ends the installation."""
    folder = place / "gh"
    folder.mkdir()
    command = ["sh", script, "--from", packages, "--provenance", "--prefix", place / "by-gh"]
    run = lambda: subprocess.run(command, env={"PATH": f"{folder}:{path}", "HOME": str(place)}, capture_output=True,
                                 text=True, check=False)
    if not shutil.which("gh", path=path):
        missing = run()
        expect(missing.returncode == 1 and "gh is missing" in missing.stderr, f"without gh: {missing}")
    gh = folder / "gh"
    for code in (1, 0):
        gh.write_text(f'#!/bin/sh\necho "$@" > {folder}/arguments\nexit {code}\n')
        gh.chmod(0o755)
        answer = run()
        asked = (folder / "arguments").read_text()
        expect(asked.startswith("attestation verify ") and "--repo memory-engine/memory-engine" in asked
               and "release.yml" in asked and ".tar.gz" in asked, f"gh is asked: {asked}")
        expect(answer.returncode == code, f"gh ends with {code}: {answer}")
        expect((place / "by-gh").exists() == (code == 0), "an archive that gh refuses was installed")
