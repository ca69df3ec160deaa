use std::{collections::BTreeSet, fs, path::Path};

use super::*;

/// Returns the paths of all files in a folder, relative to `root`.
fn files(root: &Path, folder: &Path) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            paths.extend(files(root, &path));
        } else {
            paths.insert(path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/"));
        }
    }
    paths
}

#[test]
fn every_file_of_the_page_is_embedded() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui");
    let mut expected = files(&root, &root);
    expected.retain(|path| !path.ends_with(".md") && !path.ends_with(".txt"));
    let embedded: BTreeSet<String> = ASSETS.iter().map(|asset| asset.path.to_owned()).collect();
    assert_eq!(embedded, expected);
}

#[test]
fn an_unchanged_file_is_not_sent_again() {
    let first = serve("app.js", &HeaderMap::new());
    assert_eq!(first.status(), StatusCode::OK);
    assert_eq!(first.headers()[CONTENT_TYPE], "text/javascript; charset=utf-8");
    let known = HeaderMap::from_iter([(IF_NONE_MATCH, first.headers()[ETAG].clone())]);
    assert_eq!(serve("app.js", &known).status(), StatusCode::NOT_MODIFIED);
    assert_eq!(serve("app.css", &known).status(), StatusCode::OK, "the tag belongs to another file");
}

#[test]
fn a_path_outside_the_folder_is_not_served() {
    for path in ["../Cargo.toml", "/etc/passwd", "vendor/../../Cargo.toml", ""] {
        assert_eq!(serve(path, &HeaderMap::new()).status(), StatusCode::NOT_FOUND, "{path}");
    }
}
