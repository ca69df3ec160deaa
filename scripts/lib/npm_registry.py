"""A registry of npm packages on this machine, with the tarballs of one folder. For scripts/newcomer."""

import base64
import hashlib
import http.server
import json
import pathlib
import tarfile
import threading
import urllib.parse


def read_package(tarball):
    """Returns the package.json of a tarball."""
    with tarfile.open(tarball) as archive:
        return json.load(archive.extractfile("package/package.json"))


class Registry:
    """Serves a folder of tarballs on a free port of the loopback address. Other packages are unknown (404)."""

    def __init__(self, folder):
        self.tarballs = {path.name: path.read_bytes() for path in pathlib.Path(folder).glob("*.tgz")}
        self.packages = {}
        for name in self.tarballs:
            package = read_package(pathlib.Path(folder) / name)
            self.packages[package["name"]] = (package, name)
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                registry.answer(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def document(self, name):
        package, tarball = self.packages[name]
        digest = base64.b64encode(hashlib.sha512(self.tarballs[tarball]).digest()).decode()
        dist = {"tarball": f"{self.url}-/{tarball}", "integrity": f"sha512-{digest}"}
        version = package["version"]
        return {"name": name, "dist-tags": {"latest": version}, "versions": {version: {**package, "dist": dist}}}

    def answer(self, request):
        path = urllib.parse.unquote(urllib.parse.urlsplit(request.path).path).strip("/")
        if path.removeprefix("-/") in self.tarballs:
            status, kind, body = 200, "application/octet-stream", self.tarballs[path.removeprefix("-/")]
        elif path in self.packages:
            status, kind, body = 200, "application/json", json.dumps(self.document(path)).encode()
        else:
            status, kind, body = 404, "application/json", b'{"error":"not found"}'
        request.send_response(status)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)
