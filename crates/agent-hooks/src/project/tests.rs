#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

#[test]
fn a_repository_its_folders_and_its_work_trees_are_one_project() {
    let root = tempfile::tempdir().unwrap();
    let make = |path: &str| {
        let folder = root.path().join(path);
        fs::create_dir_all(&folder).unwrap();
        folder
    };
    let write = |path: &str, text: &str| fs::write(root.path().join(path), text).unwrap();
    make("shop/.git/worktrees/fix");
    make("shop/.git/modules/ui");
    write("shop/.git/worktrees/fix/commondir", "../..\n");
    let shop = locate_project(&make("shop"));
    assert!(shop.starts_with("shop-"), "{shop}");
    assert_eq!(locate_project(&make("shop/src/web")), shop);
    let work_tree = make("shop-fix/src");
    write("shop-fix/.git", &format!("gitdir: {}\n", root.path().join("shop/.git/worktrees/fix").display()));
    assert_eq!(locate_project(&work_tree), shop);
    // A submodule is a project of its own, and so is a folder of the same name elsewhere.
    let submodule = make("shop/ui");
    write("shop/ui/.git", "gitdir: ../.git/modules/ui\n");
    let others = [locate_project(&submodule), locate_project(&make("old/shop")), locate_project(&make("blog"))];
    assert!(others.iter().all(|other| *other != shop), "{others:?}");
    assert_ne!(locate_project(&make("blog/drafts")), others[2]);
    // A marker makes a part of a repository a project, with a name that other machines share.
    write("shop/src/.memory-project", "shop web\n");
    assert_eq!(locate_project(&make("shop/src/web")), "shop-web");
    assert_eq!(locate_project(&root.path().join("shop")), shop);
    write("shop/src/.memory-project", "");
    assert!(locate_project(&make("shop/src/web")).starts_with("src-"));
}

#[test]
fn a_path_has_one_name_however_it_is_written() {
    assert_eq!(project_of_path("/home/u/shop/"), project_of_path("/home/u/shop"));
    assert_eq!(project_of_path(r"D:\code\shop"), project_of_path("D:/code/shop"));
    assert!(project_of_path("/").starts_with("root-"));
    assert!(project_of_path("/home/u/商城").starts_with("商城-"));
}
