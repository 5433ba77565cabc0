"""Hook of mkdocs: gives the documentation site the layout of the repository.

mkdocs builds pages of one folder, docs/. The documents also link to files outside of it, such as
README.md, benchmarks/README.md, programs and headers. The hook adds each file of the repository to
which a document links, at its own path, so that a relative link is right both in a viewer of the
repository and on the site:

    README.md, docs/guide.md  ->  the page README.md, which is the index; the page docs/guide.md
    cc/flow/frame.h           ->  the page cc/flow/frame.h.md, which shows the code
    examples/x.ipynb          ->  the page examples/x.ipynb.md, which shows its cells
    examples/cc, a folder     ->  the page examples/cc/index.md, which lists the files

Only links to code and to folders are rewritten. mkdocs reports links to files that do not exist.
"""

from __future__ import annotations

import json
import pathlib
import posixpath
import re
from collections.abc import Iterator

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Link, Navigation
from mkdocs.structure.pages import Page

_ROOT = pathlib.Path(__file__).resolve().parent.parent
# The part of a link in front of the fragment. In C++ code, `](` begins the parameters of a lambda,
# which are not the name of a file.
_LINK = re.compile(r"\]\(([^)#\s]+)")
_LANGUAGES = {".h": "cpp", ".cc": "cpp", ".py": "python", ".txt": "cmake"}
_COPIED = (".css", ".md", ".png", ".svg")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replaces the files of docs/ by the documents of the repository and all that they link to."""
    for file in list(files):
        if file.src_dir == config.docs_dir:
            files.remove(file)
    docs = pathlib.Path(config.docs_dir)
    pending = [*_ROOT.glob("*.md"), *docs.glob("*.md"), *docs.glob("*.css")]
    seen: set[pathlib.Path] = set()
    while pending:
        path = pending.pop()
        if path in seen or not path.exists():
            continue
        seen.add(path)
        files.append(_file(path, config))
        if path.suffix == ".md":
            pending += _linked(path)
        elif path.is_dir():
            pending += _entries(path)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Makes links to code and to folders links to the pages that show them."""
    folder = posixpath.dirname(page.file.src_uri)

    def to_page(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[1]))
        for suffix in (".md", "/index.md"):
            if target + suffix in files.src_uris:
                return link[0].rstrip("/") + suffix
        return link[0]

    return _LINK.sub(to_page, markdown)


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Makes the links to sections relative. mkdocs.yml writes them as /docs/guide/#section."""
    for section in nav.items:
        for item in section.children or []:
            if isinstance(item, Link):
                item.url = item.url.removeprefix("/")
    return nav


def _linked(document: pathlib.Path) -> Iterator[pathlib.Path]:
    """The paths to which `document` links, in the repository or not."""
    for link in _LINK.findall(document.read_text()):
        yield (document.parent / link).resolve()


def _entries(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted(path for path in folder.iterdir() if path.is_file())


def _cells(notebook: pathlib.Path) -> str:
    """The texts and the code of a notebook, as Markdown. Links in the texts stay relative to it."""
    body = ""
    for cell in json.loads(notebook.read_text())["cells"]:
        source = "".join(cell["source"])
        body += f"```python\n{source}\n```\n\n" if cell["cell_type"] == "code" else f"{source}\n\n"
    return body


def _file(path: pathlib.Path, config: MkDocsConfig) -> File:
    """The file of the site for `path`: itself, or a page that shows it."""
    uri = path.relative_to(_ROOT).as_posix()
    if path.suffix in _COPIED:
        return File(uri, str(_ROOT), config.site_dir, config.use_directory_urls)
    if path.is_dir():
        body = "".join(f"- [{entry.name}]({entry.name})\n" for entry in _entries(path))
        uri += "/index"
    elif path.suffix == ".ipynb":
        body = _cells(path)
    else:
        body = f"`````{_LANGUAGES.get(path.suffix, 'text')}\n{path.read_text()}`````\n"
    title = "" if path.suffix == ".ipynb" else f"# {path.relative_to(_ROOT)}\n\n"
    page = f"---\nsearch:\n  exclude: true\n---\n{title}{body}"
    return File.generated(config, f"{uri}.md", content=page)
