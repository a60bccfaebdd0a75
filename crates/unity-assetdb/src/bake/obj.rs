//! Reads the names in an OBJ file: objects or groups, and materials.
//!
//! Files are read in chunks of whole lines. Unity makes a node and a mesh of each group that has faces; a file without groups is
//! one mesh called `default`.

use super::model::{MAX_OBJECTS, Mesh, Model, ModelError, Node, Window};

const CHUNK: usize = 1 << 20;

/// Reads the names of groups and materials.
pub(crate) fn read(window: &mut Window<'_>) -> Result<Model, ModelError> {
    let mut model = Model::default();
    let mut group = "default".to_owned();
    let mut at = 0;
    while at < window.len {
        let piece = window.get(at, CHUNK)?;
        let whole = memchr::memrchr(b'\n', piece).map_or(piece.len(), |end| end + 1);
        if whole == 0 {
            break;
        }
        for line in piece[..whole].split(|b| *b == b'\n') {
            take(line.trim_ascii(), &mut group, &mut model);
        }
        at += whole as u64;
    }
    Ok(model)
}

fn take(line: &[u8], group: &mut String, model: &mut Model) {
    let text = |from: usize| String::from_utf8_lossy(line[from..].trim_ascii()).into_owned();
    match line {
        [b'g' | b'o', b' ', ..] => *group = text(2),
        [b'f', b' ', ..] => {
            let known = model.nodes.last().is_some_and(|node| node.name == *group);
            if !known && model.nodes.len() < MAX_OBJECTS {
                model.nodes.push(Node { name: group.clone(), parent: None, mesh: Mesh::Rigid });
            }
        }
        line if line.starts_with(b"usemtl ") => {
            let name = text(7);
            if !model.materials.contains(&name) && model.materials.len() < 4096 {
                model.materials.push(name);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::bake::{import_plan::ModelFormat, model};
    use std::io::Write as _;

    fn check(text: &str, nodes: &[&str], materials: &[&str]) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let model = model::read(&file, file.metadata().unwrap().len(), ModelFormat::Obj).unwrap();
        assert_eq!(model.nodes.iter().map(|node| &*node.name).collect::<Vec<_>>(), nodes);
        assert_eq!(model.materials, materials);
    }

    #[test]
    fn reads_groups_and_materials() {
        check("v 1 2 3\nf 1 1 1\n", &["default"], &[]);
        check(
            "o empty\no Chair\r\nusemtl Wood\nf 1 1 1\nusemtl Wood\nf 1 1 1\ng Leg\nf 1 1 1",
            &["Chair", "Leg"],
            &["Wood"],
        );
        check("# nothing\n", &[], &[]);
    }
}
