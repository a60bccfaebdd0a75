//! Writes FBX as text (version 7.4).

use std::fmt::Write;

/// A file to be.
pub(crate) struct Text {
    /// Of the global settings: axes and units.
    pub(crate) settings: String,
    objects: String,
    connections: String,
}

impl Text {
    /// Centimetres, Y up: what most files have.
    pub(crate) fn new() -> Text {
        Text {
            settings: axes([1, 1], [2, 1], [0, 1], 1.0),
            objects: String::new(),
            connections: String::new(),
        }
    }

    pub(crate) fn object(mut self, kind: &str, id: u32, name: &str, class: &str, body: &str) -> Text {
        writeln!(self.objects, "\t{kind}: {id}, \"{kind}::{name}\", \"{class}\" {{\n{body}\n\t}}").unwrap();
        self
    }

    /// A mesh: positions, and faces by the numbers of their corners.
    pub(crate) fn mesh(self, id: u32, positions: &[[f64; 3]], faces: &[&[i32]], more: &str) -> Text {
        let last = |face: &[i32]| {
            let (end, rest) = face.split_last().unwrap();
            rest.iter().copied().chain([-end - 1]).collect::<Vec<_>>()
        };
        let corners: Vec<i32> = faces.iter().flat_map(|face| last(face)).collect();
        let body = format!(
            "{}\n{}\nGeometryVersion: 124\n{more}",
            array("Vertices", positions.as_flattened()),
            array("PolygonVertexIndex", &corners)
        );
        self.object("Geometry", id, "shape", "Mesh", &body)
    }

    /// A node, with properties such as `("Lcl Translation", [1.0, 2.0, 3.0])`.
    pub(crate) fn node(self, id: u32, name: &str, class: &str, props: &[(&str, [f64; 3])]) -> Text {
        let body = format!("Version: 232\n{}", properties(props));
        self.object("Model", id, name, class, &body)
    }

    /// One belongs to the other, which is the root when it is 0.
    pub(crate) fn link(mut self, child: u32, parent: u32) -> Text {
        writeln!(self.connections, "\tC: \"OO\",{child},{parent}").unwrap();
        self
    }

    /// One is a property of the other.
    pub(crate) fn link_property(mut self, child: u32, parent: u32, property: &str) -> Text {
        writeln!(self.connections, "\tC: \"OP\",{child},{parent}, \"{property}\"").unwrap();
        self
    }

    pub(crate) fn text(&self) -> String {
        let Text { settings, objects, connections } = self;
        format!(
            "; FBX 7.4.0 project file\n\
            FBXHeaderExtension:  {{\n\tFBXHeaderVersion: 1003\n\tFBXVersion: 7400\n}}\n\
            GlobalSettings:  {{\n\tVersion: 1000\n\tProperties70:  {{\n{settings}\t}}\n}}\n\
            Objects:  {{\n{objects}}}\nConnections:  {{\n{connections}}}\n"
        )
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.text().into_bytes()
    }
}

/// Settings: each axis as its number and its sign, and how many centimetres a unit is.
pub(crate) fn axes(up: [i32; 2], front: [i32; 2], right: [i32; 2], unit: f64) -> String {
    let mut text = String::new();
    for (name, [axis, sign]) in [("UpAxis", up), ("FrontAxis", front), ("CoordAxis", right)] {
        writeln!(text, "P: \"{name}\", \"int\", \"Integer\", \"\",{axis}").unwrap();
        writeln!(text, "P: \"{name}Sign\", \"int\", \"Integer\", \"\",{sign}").unwrap();
    }
    writeln!(text, "P: \"UnitScaleFactor\", \"double\", \"Number\", \"\",{unit}").unwrap();
    text
}

pub(crate) fn array<T: ToString>(name: &str, values: &[T]) -> String {
    let list: Vec<String> = values.iter().map(T::to_string).collect();
    format!("{name}: *{} {{\na: {}\n}}", values.len(), list.join(","))
}

pub(crate) fn properties(props: &[(&str, [f64; 3])]) -> String {
    let mut text = "Properties70:  {\n".to_owned();
    for (name, [x, y, z]) in props {
        writeln!(text, "P: \"{name}\", \"Vector3D\", \"Vector\", \"\",{x},{y},{z}").unwrap();
    }
    text + "}"
}

/// A layer of a mesh with a value for each corner.
pub(crate) fn by_corner(kind: &str, list: &str, name: &str, values: &[f64]) -> String {
    format!(
        "{kind}: 0 {{\nVersion: 101\nName: \"{name}\"\nMappingInformationType: \"ByPolygonVertex\"\n\
        ReferenceInformationType: \"Direct\"\n{}\n}}",
        array(list, values)
    )
}

/// A layer that gives each face a material.
pub(crate) fn materials(of_faces: &[i32]) -> String {
    format!(
        "LayerElementMaterial: 0 {{\nVersion: 101\nName: \"\"\nMappingInformationType: \"ByPolygon\"\n\
        ReferenceInformationType: \"IndexToDirect\"\n{}\n}}",
        array("Materials", of_faces)
    )
}

/// A square of a metre in the middle of the XY plane, in centimetres.
pub(crate) const SQUARE: [[f64; 3]; 4] =
    [[-50.0, -50.0, 0.0], [50.0, -50.0, 0.0], [50.0, 50.0, 0.0], [-50.0, 50.0, 0.0]];

/// A mesh with number 1 at a node with number 2.
pub(crate) fn square(more: &str, props: &[(&str, [f64; 3])]) -> Text {
    let faces: &[&[i32]] = &[&[0, 1, 2, 3]];
    Text::new().mesh(1, &SQUARE, faces, more).node(2, "square", "Mesh", props).link(1, 2).link(2, 0)
}
