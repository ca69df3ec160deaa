"""Archives whose bytes depend on their content only: fixed order, owners, permissions and times."""

import gzip
import io
import tarfile
import zipfile
import time as clock

# From 1 (fast) to 9 (small). `scripts/release --compression` sets it.
compression_level = 6


def compress(data):
    """Returns the data in gzip format, without a file name and a time."""
    return gzip.compress(data, compresslevel=compression_level, mtime=0)


def tar(files, time, directories=()):
    """Returns a tar archive. `files` maps paths to (content, mode); `directories` maps paths to modes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        entries = [(path, None, mode) for path, mode in dict(directories).items()]
        entries += [(path, content, mode) for path, (content, mode) in files.items()]
        for path, content, mode in sorted(entries):
            entry = tarfile.TarInfo(path)
            entry.mode, entry.mtime = mode, time
            entry.uname = entry.gname = "root"
            if content is None:
                entry.type = tarfile.DIRTYPE
                archive.addfile(entry)
            else:
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def tar_gz(files, time, directories=()):
    return compress(tar(files, time, directories))


def ar(members, time):
    """Returns an archive in the common format of `ar`, as a .deb file is one."""
    data = b"!<arch>\n"
    for name, content in members:
        header = f"{name:<16}{time:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n"
        data += header.encode() + content + b"\n" * (len(content) % 2)
    return data


def zip_file(files, time):
    """Returns a zip archive. `files` maps paths to (content, mode)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=compression_level) as archive:
        for path, (content, mode) in files.items():
            entry = zipfile.ZipInfo(path, clock.gmtime(time)[:6])
            entry.create_system = 3  # Unix, so that the mode is read
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return buffer.getvalue()
