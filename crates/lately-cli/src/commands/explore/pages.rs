//! The files of the page. The same directory can be put on any web server.

/// A file: its path, its type, its content.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) path: &'static str,
    pub(super) kind: &'static str,
    pub(super) content: &'static [u8],
}

macro_rules! pages {
    ($($path:literal: $kind:literal),+ $(,)?) => {
        const PAGES: &[Page] = &[$(Page {
            path: $path,
            kind: $kind,
            content: include_bytes!(concat!("../../../explorer/", $path)),
        }),+];
    };
}
pages! {
    "index.html": "text/html; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
    "main.js": "text/javascript; charset=utf-8",
    "address.js": "text/javascript; charset=utf-8",
    "code.js": "text/javascript; charset=utf-8",
    "elements.js": "text/javascript; charset=utf-8",
    "inspect.js": "text/javascript; charset=utf-8",
    "lines.js": "text/javascript; charset=utf-8",
    "plan.js": "text/javascript; charset=utf-8",
    "plots.js": "text/javascript; charset=utf-8",
    "scene.js": "text/javascript; charset=utf-8",
    "try.js": "text/javascript; charset=utf-8",
    "watch.js": "text/javascript; charset=utf-8",
    "watch_bins.js": "text/javascript; charset=utf-8",
    "watch_slices.js": "text/javascript; charset=utf-8",
    "words.js": "text/javascript; charset=utf-8",
    "filter/browser.js": "text/javascript; charset=utf-8",
    "filter/core.js": "text/javascript; charset=utf-8",
    "filter/dedup.js": "text/javascript; charset=utf-8",
    "filter/errors.js": "text/javascript; charset=utf-8",
    "filter/filter.js": "text/javascript; charset=utf-8",
    "filter/index.js": "text/javascript; charset=utf-8",
    "filter/items.js": "text/javascript; charset=utf-8",
    "filter/options.js": "text/javascript; charset=utf-8",
    "filter/report.js": "text/javascript; charset=utf-8",
    "filter/lately.wasm": "application/wasm",
}

/// Returns the file at a path of an address.
pub(super) fn at(path: &str) -> Option<&'static Page> {
    let path = path.strip_prefix('/')?;
    let path = if path.is_empty() { "index.html" } else { path };
    PAGES.iter().find(|page| page.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    #[test]
    fn every_file_of_the_directory_is_served() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("explorer");
        let in_directory = |directory: &str| {
            let files = fs::read_dir(root.join(directory)).unwrap().map(|entry| entry.unwrap().path());
            let files: Vec<_> = files.filter(|path| path.is_file()).collect();
            files
                .iter()
                .map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/"))
                .collect::<Vec<_>>()
        };
        let mut files = [in_directory(""), in_directory("filter")].concat();
        let mut served: Vec<_> = PAGES.iter().map(|page| page.path.to_owned()).collect();
        files.sort();
        served.sort();
        assert_eq!(files, served);
    }

    #[test]
    fn nothing_else_is_served() {
        assert_eq!(at("/").unwrap().path, "index.html");
        for path in
            ["", "index.html", "//", "/../Cargo.toml", "/filter", "/filter/", "/INDEX.HTML", "/%69ndex.html"]
        {
            assert!(at(path).is_none(), "{path}");
        }
    }
}
