#!/usr/bin/env python3
"""Print a CSV manifest of a tar or zip archive without unpacking it."""

import csv
import hashlib
import sys
import tarfile
import zipfile
from datetime import UTC, datetime


def tar_rows(path):
    with tarfile.open(path) as archive:
        for member in archive:
            kind = (
                "file"
                if member.isfile()
                else "folder"
                if member.isdir()
                else "link"
                if member.issym() or member.islnk()
                else "other"
            )
            stream = archive.extractfile(member) if member.isfile() else None
            digest = hashlib.file_digest(stream, "sha256").hexdigest() if stream else ""
            moment = datetime.fromtimestamp(member.mtime, UTC).isoformat(timespec="seconds")
            yield member.name, member.size, moment, kind, digest


def zip_rows(path):
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            kind = "folder" if member.is_dir() else "file"
            with archive.open(member) as stream:
                digest = "" if member.is_dir() else hashlib.file_digest(stream, "sha256").hexdigest()
            yield member.filename, member.file_size, datetime(*member.date_time).isoformat(), kind, digest


if __name__ == "__main__":
    source = sys.argv[1]
    rows = tar_rows(source) if tarfile.is_tarfile(source) else zip_rows(source)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["path", "size", "mtime", "type", "sha256"])
    out.writerows(sorted(rows))
