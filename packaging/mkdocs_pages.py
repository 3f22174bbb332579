"""Hook of packaging/mkdocs.yml: pages of the repository's root become pages of the site, and links to them and from them fit; columns are wide."""
import os
import re

from mkdocs.structure.files import File

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGES = ("CHANGELOG.md", "SECURITY.md")
STYLE = ".md-grid { max-width: 84rem; }\n"  # lines of commands are 120 characters wide


def on_files(files, config):
    for name in PAGES:
        files.append(File.generated(config, name, abs_src_path=os.path.join(ROOT, name)))
    files.append(File.generated(config, "site.css", content=STYLE))
    return files


def on_page_markdown(markdown, page, **_):
    if page.file.src_uri in PAGES:
        return markdown.replace("](docs/", "](")
    return re.sub(r"\]\(((?:\.\./)*)\.\./(%s)" % "|".join(map(re.escape, PAGES)), r"](\1\2", markdown)
