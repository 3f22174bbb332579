#!/usr/bin/env python3
"""Finds links of the Markdown pages that lead nowhere: tests/lint/links.py [ROOT]

A link is relative: to a file or folder of the repository, and to a heading of a page where a # follows. Pages below docs/ are a site, too
(./dev site): they link to one another, to pictures and to the root's pages that the site has, never to folders or sources, and each is in its
menu. Tests that SECURITY.md names are tests. Exit status 1 when one is broken.
"""
import os
import re
import subprocess
import sys

LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`[^`]*`")
TEST = re.compile(r"`(unit|e2e|serve|golden)\.([a-z0-9_.-]+)`")
TEST_FILES = {"unit": "tests/unit/test_%s.c", "e2e": "tests/e2e/%s.sh", "serve": "tests/serve/test_%s.py", "golden": "tests/golden/%s/cmd"}
SITE = "packaging/mkdocs.yml"
SITE_ROOT_PAGES = ("CHANGELOG.md", "SECURITY.md")  # as packaging/mkdocs_pages.py has them
HEADING = re.compile(r"#+\s+(.*)")


def lines_of(path):
    """(number, line) outside of blocks of code."""
    is_code = False
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.startswith("```"):
                is_code = not is_code
            elif not is_code:
                yield number, line


def anchor_of(heading):
    """As the pages' hosts make it: small letters, blanks as -, no other punctuation."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors_of(path):
    found, seen = set(), {}
    for _, line in lines_of(path):
        heading = HEADING.match(line)
        if heading:
            anchor = anchor_of(heading.group(1))
            found.add("%s-%d" % (anchor, seen[anchor]) if anchor in seen else anchor)
            seen[anchor] = seen.get(anchor, 0) + 1
    return found


def fault_of_link(page, link):
    """Why the link leads nowhere, or None."""
    if re.match(r"[a-z]+:", link):
        return None
    path, _, anchor = link.partition("#")
    target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
    if not os.path.exists(target):
        return "there is no such file"
    if anchor and target.endswith(".md") and anchor not in anchors_of(target):
        return "the page has no such heading"
    if page.startswith("docs/") and not os.path.isfile(target):
        return "a folder is no page of the site"
    if page.startswith("docs/") and not target.startswith("docs/") and target not in SITE_ROOT_PAGES:
        return "the site does not have it"
    return None


def faults_of_menu(pages):
    with open(SITE, encoding="utf-8") as file:
        named = re.findall(r"^ +- (?:[^:\n]+: )?(\S+\.md)$", file.read(), re.MULTILINE)
    here = [page[len("docs/"):] for page in pages if page.startswith("docs/")] + list(SITE_ROOT_PAGES)
    for page in sorted(set(here) ^ set(named)):
        yield "%s: %s is %s" % (SITE, page, "in no menu" if page in here else "no page")


def faults_of_tests(page):
    for number, line in lines_of(page):
        for kind, name in TEST.findall(line):
            if not os.path.exists(TEST_FILES[kind] % (name.replace(".", "/", 1) if kind == "golden" else name)):
                yield "%s:%d: there is no test %s.%s" % (page, number, kind, name)


def main(root):
    os.chdir(root)
    pages = subprocess.run(["git", "ls-files", "*.md"], check=True, capture_output=True, text=True).stdout.split()
    faults = ["%s:%d: %s: %s" % (page, number, link, fault)
              for page in pages for number, line in lines_of(page)
              for link in LINK.findall(CODE.sub("", line)) for fault in [fault_of_link(page, link)] if fault]
    faults += faults_of_menu(pages)
    faults += faults_of_tests("SECURITY.md")
    for line in faults:
        print(line)
    return 1 if faults else 0


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "..")))
