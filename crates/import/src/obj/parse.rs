//! OBJ parser: lists of positions, UVs, normals and face vertices.
//!
//! Negative indices are made absolute, and faces may refer to vertices further down. Statements without triangles are
//! counted, for a warning of each kind.
//!
//! Rejects invalid numbers, face indices out of range, and text without any statement of the format.

use std::collections::HashMap;

use kiln_diagnostics::{Code, Diag};

use super::cursor::Cursor;
use super::number::ABSENT;

/// A missing UV, normal or material.
pub(super) const NONE: u32 = u32::MAX;

/// A face vertex: the indices of its position, UV and normal, from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Corner {
    pub(super) position: u32,
    pub(super) uv: u32,
    pub(super) normal: u32,
}

/// Consecutive faces with the same material, smoothing group and attributes.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// The index in [`Model::materials`], or [`NONE`].
    pub(super) material: u32,
    /// The smoothing group; 0 for none.
    pub(super) group: u32,
    /// The number of vertices of each face, at least three.
    pub(super) sides: u32,
    /// `true` if a face vertex lacks a normal.
    pub(super) bare: bool,
    /// `true` if any face vertex has a UV, and if any has a normal.
    pub(super) has_uv: bool,
    pub(super) has_normal: bool,
    /// The total number of face vertices.
    pub(super) corners: usize,
}

/// Something that was passed over: how often, and the line of the first.
pub(super) type Occurrences = Option<(usize, usize)>;

/// The content of a file.
#[derive(Default)]
pub(super) struct Model {
    pub(super) positions: Vec<[f32; 3]>,
    pub(super) uvs: Vec<[f32; 2]>,
    pub(super) normals: Vec<[f32; 3]>,
    pub(super) corners: Vec<Corner>,
    /// All faces; their vertices are consecutive in `corners`.
    pub(super) runs: Vec<Run>,
    /// The names of materials in the order of their first use by a face, with its line.
    pub(super) materials: Vec<(Vec<u8>, usize)>,
    /// The names of MTL libraries, each with its line.
    pub(super) libraries: Vec<(Vec<u8>, usize)>,
    /// The name of the first object or, without any, of the first group.
    pub(super) name: Vec<u8>,
    pub(super) colours: Occurrences,
    pub(super) no_triangles: Occurrences,
    pub(super) free_form: Occurrences,
    pub(super) unknown: Occurrences,
    /// The first unknown keyword.
    pub(super) unknown_word: String,
}

/// The maximum number of different MTL libraries of a file.
const MAX_LIBRARIES: usize = 256;

/// The keywords of free-form curves and surfaces.
const FREE_FORM: [&str; 22] = [
    "vp", "cstype", "deg", "bmat", "step", "curv", "curv2", "surf", "parm", "trim", "hole", "scrv", "sp",
    "end", "con", "bzp", "bsp", "cdc", "cdp", "res", "ctech", "stech",
];

/// The keywords that are ignored without a warning.
const IGNORED: [&str; 12] = [
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

/// Parses a file.
pub(super) fn parse(text: &[u8]) -> Result<Model, Diag> {
    let mut parser = Parser::new(text);
    // What large files source like: half vertices of forty bytes, half faces of as many.
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
    /// The material of the next face: its name, and its index once a face uses it.
    material: (Vec<u8>, Option<u32>),
    numbers: HashMap<Vec<u8>, u32>,
    group: u32,
    /// The highest forward references and their lines: of positions, UVs and normals.
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
                self.cursor.advance(1);
                self.position()?;
            }
            (Some(b'v'), Some(b'n' | b't')) => match self.cursor.word() {
                b"vn" => {
                    let normal = [self.cursor.float()?, self.cursor.float()?, self.cursor.float()?];
                    self.model.normals.push(normal);
                }
                b"vt" => self.coordinates()?,
                word => self.ignore(word),
            },
            (Some(b'f'), gap) if is_gap(gap) => {
                self.cursor.advance(1);
                self.face()?;
            }
            _ => return self.other_statement(),
        }
        self.known = true;
        self.cursor.skip_blanks();
        if self.cursor.at_end() { Ok(()) } else { Err(self.cursor.expected("the end of the line")) }
    }

    fn position(&mut self) -> Result<(), Diag> {
        let cursor = &mut self.cursor;
        let position = [cursor.float()?, cursor.float()?, cursor.float()?];
        self.model.positions.push(position);
        let mut more = 0;
        while self.cursor.float_or_end()?.is_some() {
            more += 1;
        }
        // A fourth number is a weight, which only curves use.
        if more > 1 {
            count(&mut self.model.colours, &self.cursor);
        }
        Ok(())
    }

    fn coordinates(&mut self) -> Result<(), Diag> {
        let u = self.cursor.float()?;
        let v = self.cursor.float_or_end()?.unwrap_or_default();
        self.cursor.float_or_end()?;
        // The V origin of OBJ is at the bottom.
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
                self.forward_reference(corner, numbers)?;
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
            return Err(self.too_many("face vertices"));
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

    /// Handles an index that is out of range so far: a forward reference, or an error.
    #[cold]
    fn forward_reference(&mut self, corner: Corner, numbers: [i64; 3]) -> Result<(), Diag> {
        let lengths = [self.model.positions.len(), self.model.uvs.len(), self.model.normals.len()];
        for (list, index) in [corner.position, corner.uv, corner.normal].into_iter().enumerate() {
            let (stated, length) = (numbers[list], lengths[list]);
            if stated == ABSENT || (index as usize) < length {
                continue;
            }
            if index == NONE {
                let message = format!("{} index {stated} is out of range: {length} precede it", KINDS[list]);
                return Err(Diag::new(Code::ObjIndex, message)
                    .at(format_args!("line {}", self.cursor.line()))
                    .hint("indices start at 1, or at -1 for the last element before the face"));
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

    /// Parses every statement other than vertices and faces.
    #[cold]
    fn other_statement(&mut self) -> Result<(), Diag> {
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
                    if self.model.libraries.len() == MAX_LIBRARIES {
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
                            self.cursor.syntax_error(format_args!(
                                "expected a smoothing group, found {}",
                                crate::excerpt(&word)
                            ))
                        },
                    )?,
                };
                self.cursor.rest();
            }
            b"p" | b"l" | b"fo" => {
                if word == b"fo" {
                    // The keyword of faces before 1992.
                    self.face()?;
                } else {
                    count(&mut self.model.no_triangles, &self.cursor);
                    self.cursor.rest();
                }
            }
            word => {
                self.ignore(word);
                return Ok(());
            }
        }
        self.known = true;
        Ok(())
    }

    /// Counts an ignored statement.
    fn ignore(&mut self, word: &[u8]) {
        let is_one_of = |words: &[&str]| words.iter().any(|known| known.as_bytes() == word);
        if is_one_of(&FREE_FORM) {
            self.known = true;
            count(&mut self.model.free_form, &self.cursor);
        } else if is_one_of(&IGNORED) {
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
        Diag::new(Code::ObjTooLarge, format!("the file has too many {what}"))
            .at(format_args!("line {}", self.cursor.line()))
            .hint("split the model into several files")
    }

    fn finish(self) -> Result<Model, Diag> {
        let model = self.model;
        if let (Some((_, line)), false) = (model.unknown, self.known) {
            let message =
                format!("the file has no OBJ statement; the first line starts with {}", model.unknown_word);
            return Err(Diag::new(Code::ObjSyntax, message)
                .at(format_args!("line {line}"))
                .hint("the file is not an OBJ file: export or download it again"));
        }
        let lengths = [model.positions.len(), model.uvs.len(), model.normals.len()];
        for (((index, line), length), kind) in self.ahead.into_iter().zip(lengths).zip(KINDS) {
            if line > 0 && index as usize >= length {
                let message = format!("{kind} index {} is out of range: the file has {length}", index + 1);
                return Err(Diag::new(Code::ObjIndex, message)
                    .at(format_args!("line {line}"))
                    .hint("the file is truncated or damaged: export it again"));
            }
        }
        Ok(model)
    }
}

/// The kinds of indices of a face vertex.
const KINDS: [&str; 3] = ["position", "UV", "normal"];

/// Converts an index of the file to one from zero; [`NONE`] when it is absent or invalid.
#[inline(always)]
fn index(stated: i64, length: usize) -> u32 {
    // Negative indices count backwards. The parser saturates at 32 bits.
    let index = if stated < 0 { stated.wrapping_add(length as i64) } else { stated - 1 };
    u32::try_from(index).unwrap_or(NONE)
}

fn count(passed: &mut Occurrences, cursor: &Cursor<'_>) {
    passed.get_or_insert((0, cursor.line())).0 += 1;
}
