//! The text of an OBJ file into lists: positions, coordinates, normals, and the corners of faces.
//!
//! Nothing is resolved here but numbers: counting backwards becomes counting forwards, and a face that names a vertex
//! further down is one like any other. Statements that draw nothing here are counted, for a warning of each kind.
//!
//! Refused are numbers that are none or not finite, faces with vertices that the file does not have, and text
//! in which no line is a statement of the format.

use std::collections::HashMap;

use kiln_engine::{Code, Diag};

use super::cursor::Cursor;
use super::number::ABSENT;

/// Stands for a texture coordinate, a normal or a material that is not given.
pub(super) const NONE: u32 = u32::MAX;

/// A corner of a face, by the numbers of its position, texture coordinates and normal from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Corner {
    pub(super) position: u32,
    pub(super) uv: u32,
    pub(super) normal: u32,
}

/// Faces in a row that have all this in common.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// A number in [`Model::materials`], or [`NONE`].
    pub(super) material: u32,
    /// The smoothing group; 0 is none.
    pub(super) group: u32,
    /// The corners of each face, at least three.
    pub(super) sides: u32,
    /// Whether corners lack normals.
    pub(super) bare: bool,
    /// Whether any corner has texture coordinates, or a normal.
    pub(super) has_uv: bool,
    pub(super) has_normal: bool,
    /// How many corners there are in all.
    pub(super) corners: usize,
}

/// Something that was passed over: how often, and the line of the first.
pub(super) type Passed = Option<(usize, usize)>;

/// What a file says.
#[derive(Default)]
pub(super) struct Model {
    pub(super) positions: Vec<[f32; 3]>,
    pub(super) uvs: Vec<[f32; 2]>,
    pub(super) normals: Vec<[f32; 3]>,
    pub(super) corners: Vec<Corner>,
    /// All faces; their corners follow each other in `corners`.
    pub(super) runs: Vec<Run>,
    /// The names of materials in the order of their first use by a face, and the line of that.
    pub(super) materials: Vec<(Vec<u8>, usize)>,
    /// The names of libraries, each with its line.
    pub(super) libraries: Vec<(Vec<u8>, usize)>,
    /// The name of the first object or, without any, of the first group.
    pub(super) name: Vec<u8>,
    pub(super) colours: Passed,
    pub(super) no_triangles: Passed,
    pub(super) free_form: Passed,
    pub(super) unknown: Passed,
    /// The first word that is not known.
    pub(super) unknown_word: String,
}

/// The most different libraries a file may name.
const MOST_LIBRARIES: usize = 256;

/// Statements of curves and surfaces.
const FREE_FORM: [&str; 22] = [
    "vp", "cstype", "deg", "bmat", "step", "curv", "curv2", "surf", "parm", "trim", "hole", "scrv", "sp",
    "end", "con", "bzp", "bsp", "cdc", "cdp", "res", "ctech", "stech",
];

/// Statements that change nothing that is kept.
const SILENT: [&str; 12] = [
    "mg",
    "bevel",
    "c_interp",
    "d_interp",
    "lod",
    "shadow_obj",
    "trace_obj",
    "usemap",
    "maplib",
    "call",
    "csh",
    "smooth",
];

/// Reads a file.
pub(super) fn parse(text: &[u8]) -> Result<Model, Diag> {
    let mut parser = Parser::new(text);
    // What large files look like: half vertices of forty bytes, half faces of as many.
    parser.model.positions.reserve(text.len() / 256);
    parser.model.corners.reserve(text.len() / 36);
    while parser.cursor.next_statement() {
        parser.statement()?;
    }
    parser.finish()
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    model: Model,
    known: bool,
    has_object: bool,
    /// What the next face is made of: its name, and its number once a face has it.
    material: (Vec<u8>, Option<u32>),
    numbers: HashMap<Vec<u8>, u32>,
    group: u32,
    /// The highest numbers that were used before they were there, and their lines: of positions, coordinates, normals.
    ahead: [(u32, usize); 3],
}

impl<'a> Parser<'a> {
    fn new(text: &'a [u8]) -> Parser<'a> {
        Parser {
            cursor: Cursor::new(text),
            model: Model::default(),
            known: false,
            has_object: false,
            material: (Vec::new(), Some(NONE)),
            numbers: HashMap::new(),
            group: 0,
            ahead: [(0, 0); 3],
        }
    }

    fn statement(&mut self) -> Result<(), Diag> {
        let is_gap = |byte| matches!(byte, Some(b' ' | b'\t'));
        match self.cursor.peek() {
            (Some(b'v'), gap) if is_gap(gap) => {
                self.cursor.pass(1);
                self.position()?;
            }
            (Some(b'v'), Some(b'n' | b't')) => match self.cursor.word() {
                b"vn" => {
                    let normal = [self.cursor.float()?, self.cursor.float()?, self.cursor.float()?];
                    self.model.normals.push(normal);
                }
                b"vt" => self.coordinates()?,
                word => self.pass_over(word),
            },
            (Some(b'f'), gap) if is_gap(gap) => {
                self.cursor.pass(1);
                self.face()?;
            }
            _ => return self.rare(),
        }
        self.known = true;
        self.cursor.skip_blanks();
        if self.cursor.ends() { Ok(()) } else { Err(self.cursor.no_number("the end of the line")) }
    }

    fn position(&mut self) -> Result<(), Diag> {
        let cursor = &mut self.cursor;
        let position = [cursor.float()?, cursor.float()?, cursor.float()?];
        self.model.positions.push(position);
        let mut more = 0;
        while self.cursor.float_or_end()?.is_some() {
            more += 1;
        }
        // One more is a weight, which only curves use.
        if more > 1 {
            count(&mut self.model.colours, &self.cursor);
        }
        Ok(())
    }

    fn coordinates(&mut self) -> Result<(), Diag> {
        let u = self.cursor.float()?;
        let v = self.cursor.float_or_end()?.unwrap_or_default();
        self.cursor.float_or_end()?;
        // From the bottom, where they count from here.
        self.model.uvs.push([u, 1.0 - v]);
        Ok(())
    }

    fn face(&mut self) -> Result<(), Diag> {
        let first = self.model.corners.len();
        let (mut has_uv, mut has_normal, mut bare) = (false, false, false);
        let lengths = [self.model.positions.len(), self.model.uvs.len(), self.model.normals.len()];
        while let Some(numbers) = self.cursor.corner_or_end()? {
            let corner = Corner {
                position: index(numbers[0], lengths[0]),
                uv: index(numbers[1], lengths[1]),
                normal: index(numbers[2], lengths[2]),
            };
            let (given_uv, given_normal) = (numbers[1] != ABSENT, numbers[2] != ABSENT);
            let is_ahead = corner.position as usize >= lengths[0]
                || given_uv && corner.uv as usize >= lengths[1]
                || given_normal && corner.normal as usize >= lengths[2];
            if is_ahead {
                self.look_ahead(corner, numbers)?;
            }
            has_uv |= given_uv;
            has_normal |= given_normal;
            bare |= !given_normal;
            self.model.corners.push(corner);
        }
        let corners = self.model.corners.len() - first;
        if corners < 3 {
            self.model.corners.truncate(first);
            count(&mut self.model.no_triangles, &self.cursor);
            return Ok(());
        }
        if self.model.corners.len() >= NONE as usize {
            return Err(self.too_many("corners"));
        }
        let sides = corners as u32;
        let material = match self.material.1 {
            Some(material) => material,
            None => self.number_material(),
        };
        match self.model.runs.last_mut() {
            Some(run)
                if run.sides == sides
                    && run.material == material
                    && run.group == self.group
                    && run.bare == bare =>
            {
                run.has_uv |= has_uv;
                run.has_normal |= has_normal;
                run.corners += corners;
            }
            _ => {
                let group = self.group;
                self.model.runs.push(Run { material, group, sides, bare, has_uv, has_normal, corners });
            }
        }
        Ok(())
    }

    /// A face uses something that is not there: not yet, or never.
    #[cold]
    fn look_ahead(&mut self, corner: Corner, numbers: [i64; 3]) -> Result<(), Diag> {
        let lengths = [self.model.positions.len(), self.model.uvs.len(), self.model.normals.len()];
        for (list, index) in [corner.position, corner.uv, corner.normal].into_iter().enumerate() {
            let (stated, length) = (numbers[list], lengths[list]);
            if stated == ABSENT || (index as usize) < length {
                continue;
            }
            if index == NONE {
                let message = format!("{stated} is not the number of {}: {length} came before", KINDS[list]);
                return Err(Diag::new(Code::ObjIndex, message)
                    .at(format_args!("line {}", self.cursor.line()))
                    .hint("numbers start at 1, or at -1 for the one just before"));
            }
            if index >= self.ahead[list].0 {
                self.ahead[list] = (index, self.cursor.line());
            }
        }
        Ok(())
    }

    #[cold]
    fn number_material(&mut self) -> u32 {
        let next = self.model.materials.len() as u32;
        let name = std::mem::take(&mut self.material.0);
        let number = *self.numbers.entry(name.clone()).or_insert(next);
        if number == next {
            self.model.materials.push((name, self.cursor.line()));
        }
        self.material.1 = Some(number);
        number
    }

    /// Every statement that is not one of a vertex or a face.
    #[cold]
    fn rare(&mut self) -> Result<(), Diag> {
        let word = self.cursor.word();
        match word {
            b"o" | b"g" => {
                let name = self.cursor.rest();
                if self.model.name.is_empty() || (word == b"o" && !self.has_object) {
                    self.model.name = name;
                }
                self.has_object |= word == b"o";
            }
            b"usemtl" => {
                let name = self.cursor.rest();
                let nothing = name.is_empty().then_some(NONE);
                self.material = (name, nothing);
            }
            b"mtllib" => {
                let line = self.cursor.line();
                let name = self.cursor.rest();
                if !name.is_empty() && !self.model.libraries.iter().any(|(known, _)| *known == name) {
                    if self.model.libraries.len() == MOST_LIBRARIES {
                        return Err(self.too_many("material libraries"));
                    }
                    self.model.libraries.push((name, line));
                }
            }
            b"s" => {
                self.group = match self.cursor.word() {
                    b"off" | b"" => 0,
                    b"on" => 1,
                    word => std::str::from_utf8(word).ok().and_then(|word| word.parse().ok()).ok_or_else(
                        || {
                            let word = String::from_utf8_lossy(word);
                            self.cursor
                                .wrong(format_args!("{} is not a smoothing group", crate::excerpt(&word)))
                        },
                    )?,
                };
                self.cursor.rest();
            }
            b"p" | b"l" | b"fo" => {
                if word == b"fo" {
                    // How faces were written before 1992.
                    self.face()?;
                } else {
                    count(&mut self.model.no_triangles, &self.cursor);
                    self.cursor.rest();
                }
            }
            word => {
                self.pass_over(word);
                return Ok(());
            }
        }
        self.known = true;
        Ok(())
    }

    /// Counts a statement of another kind.
    fn pass_over(&mut self, word: &[u8]) {
        let is_one_of = |words: &[&str]| words.iter().any(|known| known.as_bytes() == word);
        if is_one_of(&FREE_FORM) {
            self.known = true;
            count(&mut self.model.free_form, &self.cursor);
        } else if is_one_of(&SILENT) {
            self.known = true;
        } else {
            if self.model.unknown.is_none() {
                self.model.unknown_word = crate::excerpt(&String::from_utf8_lossy(word));
            }
            count(&mut self.model.unknown, &self.cursor);
        }
        self.cursor.rest();
    }

    fn too_many(&self, what: &str) -> Diag {
        Diag::new(Code::ObjTooLarge, format!("there are too many {what}"))
            .at(format_args!("line {}", self.cursor.line()))
            .hint("split the model into several files")
    }

    fn finish(self) -> Result<Model, Diag> {
        let model = self.model;
        if let (Some((_, line)), false) = (model.unknown, self.known) {
            let message = format!("{} starts no statement, and no other line does", model.unknown_word);
            return Err(Diag::new(Code::ObjSyntax, message)
                .at(format_args!("line {line}"))
                .hint("this is not an OBJ file: export or download it again"));
        }
        let lengths = [model.positions.len(), model.uvs.len(), model.normals.len()];
        for (((index, line), length), kind) in self.ahead.into_iter().zip(lengths).zip(KINDS) {
            if line > 0 && index as usize >= length {
                let message = format!("{} is not the number of {kind}: the file has {length}", index + 1);
                return Err(Diag::new(Code::ObjIndex, message)
                    .at(format_args!("line {line}"))
                    .hint("the file is cut off or damaged: export it again"));
            }
        }
        Ok(model)
    }
}

/// What the numbers of a corner name.
const KINDS: [&str; 3] = ["a position", "a texture coordinate", "a normal"];

/// A number as files state it, from zero; [`NONE`] when it is not there or names nothing.
#[inline(always)]
fn index(stated: i64, length: usize) -> u32 {
    // Backwards when it is negative. The reader keeps numbers to 32 bits.
    let index = if stated < 0 { stated.wrapping_add(length as i64) } else { stated - 1 };
    u32::try_from(index).unwrap_or(NONE)
}

fn count(passed: &mut Passed, cursor: &Cursor<'_>) {
    passed.get_or_insert((0, cursor.line())).0 += 1;
}
