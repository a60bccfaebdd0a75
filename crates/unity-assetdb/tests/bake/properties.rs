//! Properties of names: unique, independent of order, stable when an unrelated asset is added.

use crate::project::{Project, guid};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the name of the asset at each path.
fn names(paths: &BTreeSet<String>, numbers: &dyn Fn(usize) -> u128) -> BTreeMap<String, String> {
    let project = Project::new();
    for (n, path) in paths.iter().enumerate() {
        project.write(path, "").write(&format!("{path}.meta"), format!("guid: {}\n", guid(numbers(n))));
    }
    project.bake();
    project.db().entries.iter().map(|entry| (entry.hint.to_string(), entry.name.to_string())).collect()
}

fn paths() -> impl Strategy<Value = BTreeSet<String>> {
    proptest::collection::btree_set("Assets(/[ABx]){0,4}/(f|g|f\\^A|f\\^x)\\.(txt|json)", 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn names_are_unique_and_free_of_order(paths in paths()) {
        let up = names(&paths, &|n| n as u128 + 1);
        let down = names(&paths, &|n| 100 - n as u128);
        prop_assert_eq!(&up, &down);
        let distinct: BTreeSet<&String> = up.values().collect();
        prop_assert_eq!(distinct.len(), paths.len(), "{:?}", up);
        // An unsuffixed name is unique.
        for (path, name) in &up {
            let stem = path.rsplit('/').next().unwrap().rsplit_once('.').unwrap().0;
            let rivals = paths.iter().filter(|other| {
                other.rsplit('/').next().unwrap().rsplit_once('.').unwrap().0 == stem
            });
            prop_assert_eq!(name == stem, rivals.count() == 1, "{}", path);
        }
    }

    #[test]
    fn an_unrelated_asset_moves_nothing(paths in paths()) {
        let before = names(&paths, &|n| n as u128 + 1);
        let mut more = paths.clone();
        more.insert("Assets/A/unrelated.txt".to_owned());
        more.insert("Assets/x/A/unrelated.txt".to_owned());
        let after = names(&more, &|n| n as u128 + 1);
        for (path, name) in &before {
            prop_assert_eq!(name, &after[path]);
        }
    }
}
