//! SPIR-V modules assembled word by word from the Khronos specification, and their reflection.

use kiln_format::spv::{
    Attribute, Binding, Count, Descriptor, EntryPoint, PushConstants, Reflection, SpecConstant, Spv, SpvView,
    Stage,
};
use kiln_format::{Error, Fact, Format};

/// A SPIR-V module under construction.
#[derive(Clone)]
struct Module(Vec<u32>);

/// Encodes a string as words.
fn text(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(bytes.len() / 4 * 4 + 4, 0);
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

impl Module {
    fn new(version: u32) -> Module {
        Module(vec![0x0723_0203, version, 0, 100, 0])
    }

    fn op(mut self, opcode: u32, operands: &[u32]) -> Module {
        self.0.push((operands.len() as u32 + 1) << 16 | opcode);
        self.0.extend(operands);
        self
    }

    fn named(self, opcode: u32, before: &[u32], name: &str, after: &[u32]) -> Module {
        self.op(opcode, &[before, &text(name), after].concat())
    }

    /// Adds a function and a second one that it calls.
    fn functions(self) -> Module {
        let main = self.op(54, &[1, 4, 0, 3]).op(248, &[5]).op(57, &[1, 7, 6]).op(253, &[]).op(56, &[]);
        main.op(54, &[1, 6, 0, 3]).op(248, &[8]).op(253, &[]).op(56, &[])
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

const VERTEX: u32 = 0;
const LOCATION: u32 = 30;
const BINDING: u32 = 33;
const SET: u32 = 34;
const OFFSET: u32 = 35;

/// Builds a vertex shader with one of each kind of interface.
fn vertex() -> Module {
    let m = Module::new(0x0001_0500).op(17, &[1]).op(14, &[0, 1]);
    let m = m.named(15, &[VERTEX, 4], "main", &[20, 21, 22]);
    let m = m.named(5, &[20], "position", &[]).named(5, &[31], "albedo", &[]).named(5, &[40], "Camera", &[]);
    let m = m.named(5, &[51], "push", &[]).named(5, &[60], "QUALITY", &[]).named(5, &[72], "lights", &[]);
    // Locations; one variable is a built-in without a location.
    let m = m.op(71, &[20, LOCATION, 2]).op(71, &[21, LOCATION, 0]).op(71, &[22, 11, 0]);
    let m = m.op(71, &[31, SET, 1]).op(71, &[31, BINDING, 3]);
    let m = m.op(71, &[41, SET, 0]).op(71, &[41, BINDING, 0]).op(71, &[40, 2]);
    let m = m.op(72, &[40, 0, OFFSET, 0]).op(72, &[40, 0, 7, 16]).op(72, &[40, 0, 5]);
    let m = m.op(72, &[40, 1, OFFSET, 64]);
    let m = m.op(71, &[50, 2]).op(72, &[50, 0, OFFSET, 16]).op(71, &[60, 1, 7]);
    let m = m.op(71, &[72, SET, 0]).op(71, &[72, BINDING, 1]).op(71, &[73, 6, 16]);
    let m = m.op(71, &[70, 2]).op(72, &[70, 0, OFFSET, 0]).op(72, &[70, 1, OFFSET, 16]);
    // The types void, function, float, vec3, vec4, mat4, uint.
    let m = m.op(19, &[1]).op(33, &[3, 1]).op(22, &[10, 32]).op(23, &[11, 10, 3]).op(23, &[12, 10, 4]);
    let m = m.op(24, &[13, 12, 4]).op(21, &[14, 32, 0]);
    // An input, an output, a built-in output.
    let m = m.op(32, &[15, 1, 11]).op(32, &[16, 3, 12]).op(59, &[15, 20, 1]).op(59, &[16, 21, 3]);
    let m = m.op(59, &[16, 22, 3]);
    // Eight combined image samplers.
    let m =
        m.op(25, &[25, 10, 1, 0, 0, 0, 1, 0]).op(27, &[26, 25]).op(43, &[14, 27, 8]).op(28, &[28, 26, 27]);
    let m = m.op(32, &[29, 0, 28]).op(59, &[29, 31, 0]);
    // A uniform block of a matrix and a vec3, without an instance name.
    let m = m.op(30, &[40, 13, 11]).op(32, &[42, 2, 40]).op(59, &[42, 41, 2]);
    // Push constants: a vec4 at byte 16.
    let m = m.op(30, &[50, 12]).op(32, &[52, 9, 50]).op(59, &[52, 51, 9]);
    // A specialisation constant.
    let m = m.op(50, &[14, 60, 3]);
    // A storage block with a runtime-sized array at its end.
    let m = m.op(29, &[73, 12]).op(30, &[70, 14, 73]).op(32, &[71, 12, 70]).op(59, &[71, 72, 12]);
    m.functions()
}

#[test]
fn reflects_vertex_shader() {
    let bytes = vertex().bytes();
    let found = Reflection::read(&bytes).unwrap();
    let attribute = |location, ty: &str, name| Attribute { location, component: 0, ty: ty.into(), name };
    assert_eq!(
        found,
        Reflection {
            version: (1, 5),
            entry_points: vec![EntryPoint { stage: Stage::Vertex, name: "main", workgroup: None }],
            bindings: vec![
                Binding {
                    set: 0,
                    binding: 0,
                    descriptor: Descriptor::UniformBuffer,
                    count: Count::Fixed(1),
                    name: "Camera",
                    size: 76,
                },
                Binding {
                    set: 0,
                    binding: 1,
                    descriptor: Descriptor::StorageBuffer,
                    count: Count::Fixed(1),
                    name: "lights",
                    size: 16,
                },
                Binding {
                    set: 1,
                    binding: 3,
                    descriptor: Descriptor::CombinedImageSampler,
                    count: Count::Fixed(8),
                    name: "albedo",
                    size: 0,
                },
            ],
            push_constants: vec![PushConstants { offset: 16, size: 16, name: "push" }],
            inputs: vec![attribute(2, "vec3", "position")],
            outputs: vec![attribute(0, "vec4", "")],
            constants: vec![SpecConstant { id: 7, ty: "uint".into(), default: "3".into(), name: "QUALITY" }],
            vulkan_error: None,
        }
    );
    let mut line = String::new();
    Spv.describe(&bytes, &mut line).unwrap();
    assert_eq!(
        line,
        "SPIR-V 1.5 | vertex \"main\" | bindings: 0.0 uniform-buffer Camera, 0.1 storage-buffer lights, \
         1.3 combined-image-sampler albedo[8] | push constants 16 B | inputs: 2 vec3 position"
    );
    let mut rows = 0;
    let mut names = vec![];
    let mut each = |name, fact: Fact<'_>| {
        names.push(name);
        if let Fact::Rows(list) = fact {
            rows += list.len();
        }
    };
    Spv.facts(&bytes, &mut each).unwrap();
    let expected =
        ["version", "entry_points", "bindings", "push_constants", "inputs", "outputs", "constants"];
    assert_eq!(names, expected);
    assert_eq!(rows, 1 + 3 + 1 + 1 + 1 + 1);
}

fn compute() -> Module {
    let m = Module::new(0x0001_0600).op(17, &[1]).op(14, &[0, 1]).named(15, &[5, 4], "main", &[]);
    let m = m.op(331, &[4, 38, 11, 12, 11]).op(19, &[1]).op(33, &[3, 1]).op(21, &[10, 32, 0]);
    m.op(43, &[10, 11, 1]).op(43, &[10, 12, 64]).functions()
}

#[test]
fn reflects_workgroup_size_from_literals_and_constants() {
    let by_id = compute().bytes();
    assert_eq!(Reflection::read(&by_id).unwrap().entry_points[0].workgroup, Some([1, 64, 1]));
    let m = Module::new(0x0001_0000).named(15, &[5, 4], "main", &[]).op(16, &[4, 17, 8, 4, 2]);
    let by_number = m.op(19, &[1]).op(33, &[3, 1]).functions().bytes();
    assert_eq!(Reflection::read(&by_number).unwrap().entry_points[0].workgroup, Some([8, 4, 2]));
    let mut line = String::new();
    Spv.describe(&by_number, &mut line).unwrap();
    assert_eq!(line, "SPIR-V 1.0 | compute \"main\" 8x4x2");
}

#[test]
fn descriptors_have_vulkan_names() {
    // Dim, sampled, and whether it is combined with a sampler.
    let of = |dim: u32, sampled: u32, wrapped: bool| {
        let m = Module::new(0x0001_0300).named(15, &[4, 4], "main", &[]);
        let m = m.op(71, &[20, SET, 0]).op(71, &[20, BINDING, 0]).op(19, &[1]).op(33, &[3, 1]);
        let m = m.op(22, &[10, 32]).op(25, &[11, 10, dim, 0, 0, 0, sampled, 0]).op(27, &[12, 11]);
        let m = m.op(32, &[13, 0, if wrapped { 12 } else { 11 }]).op(59, &[13, 20, 0]);
        Reflection::read(&m.functions().bytes()).unwrap().bindings[0].descriptor
    };
    assert_eq!(of(1, 1, true), Descriptor::CombinedImageSampler);
    assert_eq!(of(1, 1, false), Descriptor::SampledImage);
    assert_eq!(of(1, 2, false), Descriptor::StorageImage);
    assert_eq!(of(5, 1, false), Descriptor::UniformTexelBuffer);
    assert_eq!(of(5, 1, true), Descriptor::UniformTexelBuffer);
    assert_eq!(of(5, 2, false), Descriptor::StorageTexelBuffer);
    assert_eq!(of(6, 2, false), Descriptor::InputAttachment);
}

#[test]
fn detects_misplaced_opaque_handles() {
    let m = Module::new(0x0001_0300).named(15, &[4, 4], "main", &[]).op(19, &[1]).op(33, &[3, 1]);
    let structure = m.clone().op(26, &[10]).op(30, &[11, 10]).functions().bytes();
    assert!(Reflection::read(&structure).unwrap().vulkan_error.is_some());
    let m = m.op(26, &[10]).op(32, &[11, 7, 10]).op(54, &[1, 4, 0, 3]).op(248, &[5]).op(59, &[11, 12, 7]);
    let variable = m.op(253, &[]).op(56, &[]).bytes();
    assert!(Reflection::read(&variable).unwrap().vulkan_error.is_some());
}

#[test]
fn rejects_invalid_modules() {
    let verify_error = |module: &Module| Spv.verify(&module.bytes()).unwrap_err().to_string();
    let good = vertex();
    let with = |at: usize, word: u32| {
        let mut other = good.clone();
        other.0[at] = word;
        verify_error(&other)
    };
    assert_eq!(with(0, 0x0302_2307), "not a .spv file: the first bytes are \"\\x07#\\x02\\x03\"");
    assert_eq!(with(1, 0x0001_0700), "version at byte 4 must be 1.0 to 1.6, found 67328");
    assert_eq!(with(3, 0), "bound at byte 12 must be from 1 to 4194303, found 0");
    assert_eq!(with(4, 1), "schema at byte 16 must be 0 to match the rest of the file, found 1");
    let empty = Module::new(0x0001_0000);
    assert_eq!(verify_error(&empty), "module at byte 20 ends without an entry point");
    let entry = |model, function| empty.clone().named(15, &[model, function], "main", &[]).functions();
    assert_eq!(
        verify_error(&entry(6, 4)),
        "entry point at byte 20 has an execution model that Vulkan does not have"
    );
    assert_eq!(
        verify_error(&entry(4, 9)),
        "entry point at byte 20 refers to a function that the module does not define"
    );
    let open = empty.clone().named(15, &[4, 4], "main", &[]).op(54, &[1, 4, 0, 3]);
    assert!(verify_error(&open).ends_with("does not end"));
    let call = open.op(57, &[1, 7, 44]).op(56, &[]);
    assert!(verify_error(&call).ends_with("calls a function that the module does not define"));
    let twice = entry(4, 4).op(19, &[1]).op(19, &[1]);
    assert!(verify_error(&twice).ends_with("has the ID of another type"));
    let cycle = entry(4, 4).op(29, &[10, 10]);
    assert!(verify_error(&cycle).ends_with("refers to an ID that is not a type defined before it"));
    assert!(verify_error(&empty.clone().op(1, &[]).op(15, &[])).contains("entry point"));
}

#[test]
fn truncated_or_bit_flipped_module_never_panics() {
    for good in [vertex().bytes(), compute().bytes()] {
        assert_eq!(Spv.verify(&good), Ok(()));
        for len in 0..good.len() {
            assert!(Spv.verify(&good[..len]).is_err(), "{len} of {} bytes verify", good.len());
        }
        let mut bytes = good.clone();
        for bit in 0..good.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let verdict = Spv.verify(&bytes);
            let mut text = String::new();
            assert_eq!(Spv.describe(&bytes, &mut text).is_ok(), verdict.is_ok());
            assert_eq!(Spv.dump(&bytes, &mut text).is_ok(), verdict.is_ok());
            assert_eq!(Spv.facts(&bytes, &mut |_, _| {}).is_ok(), verdict.is_ok());
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn deep_and_wide_types_take_linear_time() {
    // Nested arrays: names and sizes must neither recurse nor grow exponentially.
    let mut m = Module::new(0x0001_0500).named(15, &[4, 4], "main", &[]).op(71, &[7, LOCATION, 0]);
    m.0[3] = 0x3f_ffff;
    m = m.op(19, &[1]).op(33, &[3, 1]).op(22, &[100, 32]).op(21, &[98, 32, 0]).op(43, &[98, 99, 2]);
    for id in 101..60_000 {
        m = m.op(28, &[id, id - 1, 99]);
    }
    // A structure of many of them: each is visited once, not once per nesting level.
    m = m.op(30, &[&[60_001][..], &[59_999; 60_000]].concat());
    let bytes = m.op(32, &[60_000, 1, 59_999]).op(59, &[60_000, 7, 1]).functions().bytes();
    let found = Reflection::read(&bytes).unwrap();
    assert_eq!(found.inputs[0].ty, format!("float[{}]", u32::MAX));
}

#[test]
fn lists_entry_points_without_reflection() {
    let bytes = vertex().bytes();
    let view = SpvView::read(&bytes).unwrap();
    assert_eq!(view.entry_points().collect::<Vec<_>>(), [(Stage::Vertex, "main")]);
    assert_eq!((view.version(), view.bound()), ((1, 5), 100));
    let total: usize = view.instructions().map(|i| i.words().len() + 1).sum();
    assert_eq!(total * 4 + 20, bytes.len());
    assert!(matches!(SpvView::read(&bytes[..7]), Err(Error::Truncated { .. })));
}
