"""Writes what a program consists of as SPDX 2.3, in JSON: the program, what is linked into it, and
the packages of Debian that it needs at run time, each with its version and licence.

    sbom.py PROGRAM VERSION FILE
"""

import hashlib
import json
import os
import pathlib
import re
import sys
from datetime import datetime, timezone

import linked


def element(name, version, licence, comment):
    text = re.sub(r"[^A-Za-z0-9.-]", "-", name)
    return {
        "SPDXID": f"SPDXRef-{text}", "name": name, "versionInfo": version,
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence, "copyrightText": "NOASSERTION", "comment": comment}


def swift_version():
    compiler = os.environ.get("SWIFT", "swift")
    match = re.search(r"Swift version (\S+)", linked.run(compiler, "--version"))
    return match[1] if match else "unknown"


def main(program, version, target):
    made = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), timezone.utc)
    digest = hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest()
    own = element("gapless", version, "Apache-2.0", "The program.")
    own["checksums"] = [{"algorithm": "SHA256", "checksumValue": digest}]
    parts = [element(
        "swift-runtime", swift_version(), "Apache-2.0 WITH Swift-exception",
        "Linked into the program.")]
    for name, installed in linked.packages(program).items():
        said = linked.licences(name)
        parts.append(element(
            name, installed, "NOASSERTION",
            "A package of Debian 12, loaded at run time. Its copyright file names: "
            + ("; ".join(said) if said else "no licence by its short name") + "."))
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"gapless-{version}", "documentNamespace": f"urn:sha256:{digest}",
        "creationInfo": {
            "created": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: deploy/release"]},
        "packages": [own, *parts],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
             "relatedSpdxElement": own["SPDXID"]},
            *({"spdxElementId": own["SPDXID"],
               "relationshipType": "STATIC_LINK" if part["name"] == "swift-runtime"
               else "DYNAMIC_LINK",
               "relatedSpdxElement": part["SPDXID"]} for part in parts)]}
    pathlib.Path(target).write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
