#!/usr/bin/env python3
"""The dependencies of pipescope as an SPDX 2.3 document: packaging/sbom.py [FILE]; --check: only whether it can be made; --linked FILE...: whether what
these programs and libraries load is in it.

Made of the table in docs/dependencies.md and the notices in THIRD_PARTY.txt, which say versions and licences of what is shipped. What the system brings has no
version here: that of the machine counts. SOURCE_DATE_EPOCH, else the last commit, is its time, so that the same source gives the same bytes.
"""
import datetime
import json
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")

# How a dependency relates to the program, by what its row says under "needed by"; the first that fits counts.
RELATIONS = (
    (r"inside its bundle", "CONTAINS"),
    (r"opens it with|loaded it already|with `--backend|`pipescope\.record_ops`", "RUNTIME_DEPENDENCY_OF"),
    (r"the program, optional|the Python package, optional", "OPTIONAL_DEPENDENCY_OF"),
    (r"the program", "DEPENDENCY_OF"),
    (r"building", "BUILD_DEPENDENCY_OF"),
    (r"tests", "TEST_DEPENDENCY_OF"),
    (r"developers", "DEV_DEPENDENCY_OF"),
)
SYSTEM = {"libc", "libm", "libpthread", "libdl", "ld-linux-x86-64", "ld-linux-aarch64"}  # of the C library


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def rows():
    """(dependency, package, needed by) of the table."""
    for line in read("docs/dependencies.md").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 5 and cells[0] != "dependency" and set(cells[0]) != {"-"}:
            yield cells[0], cells[1], cells[2]


def notices():
    """Name in small letters -> (version or None, licence, home) of what is shipped."""
    found = re.findall(r"^(\S+)(?: ([0-9][0-9.]*))? \(([A-Za-z0-9.-]+)\), (https?://\S+)$", read("THIRD_PARTY.txt"), re.M)
    return {name.lower(): (version or None, licence, home) for name, version, licence, home in found}


def relation_of(name, needed_by):
    for pattern, relation in RELATIONS:
        if re.search(pattern, needed_by):
            return relation
    raise ValueError("docs/dependencies.md: %s: nothing known needs it: '%s'" % (name, needed_by))


def package(ident, name, **more):
    return dict({"SPDXID": ident, "name": name, "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "copyrightText": "NOASSERTION",
                 "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION"}, **more)


def time_of_source():
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is None:
        done = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False)
        epoch = done.stdout.strip() or "0"
    return int(epoch)


def document():
    version = re.search(r'PS_VERSION "([^"]+)"', read("src/base/version.h")).group(1)
    shipped = notices()
    packages = [package("SPDXRef-pipescope", "pipescope", versionInfo=version, licenseDeclared="Apache-2.0", primaryPackagePurpose="APPLICATION")]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-pipescope"}]
    for number, (name, source, needed_by) in enumerate(rows(), 1):
        ident = "SPDXRef-%d-%s" % (number, re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-"))
        relation = relation_of(name, needed_by)
        has_notice = re.sub(r"^lib", "", name.lower())
        more = {"comment": source.replace("`", "")} if source else {}
        if has_notice in shipped:
            number_of, licence, home = shipped.pop(has_notice)
            more.update({"licenseDeclared": licence, "homepage": home})
            if number_of:
                more["versionInfo"] = number_of
            relation = "CONTAINS"
        elif relation == "CONTAINS":
            raise ValueError("%s is shipped, and THIRD_PARTY.txt has no notice of it" % name)
        packages.append(package(ident, name, **more))
        ends = ("SPDXRef-pipescope", ident) if relation == "CONTAINS" else (ident, "SPDXRef-pipescope")
        relations.append({"spdxElementId": ends[0], "relationshipType": relation, "relatedSpdxElement": ends[1]})
    if shipped:
        raise ValueError("THIRD_PARTY.txt has notices of what docs/dependencies.md does not list: %s" % ", ".join(sorted(shipped)))
    created = datetime.datetime.fromtimestamp(time_of_source(), datetime.timezone.utc)
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "pipescope-" + version,
            "documentNamespace": "https://spdx.org/spdxdocs/pipescope-%s-%d" % (version, time_of_source()),
            "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: pipescope-sbom"]},
            "packages": packages, "relationships": relations}


def faults_of_links(paths):
    listed = [word.rsplit("-dev", 1)[0] for _, source, _ in rows() for word in re.findall(r"`(lib[^`]+)`", source)]
    for path in paths:
        out = subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"NEEDED\s+(\S+)\.so", out):
            if library not in SYSTEM and not any(library.startswith(name) for name in listed):
                yield "%s loads %s, which docs/dependencies.md does not list" % (path, library)


def main(words):
    try:
        text = json.dumps(document(), indent=1) + "\n"
    except ValueError as fault:
        print("sbom: %s" % fault, file=sys.stderr)
        return 1
    if words[:1] == ["--linked"]:
        faults = list(faults_of_links(words[1:]))
        print("\n".join(faults), end="\n" if faults else "")
        return 1 if faults else 0
    if words and words[0] != "--check":
        with open(words[0], "w", encoding="utf-8") as file:
            file.write(text)
    elif not words:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
