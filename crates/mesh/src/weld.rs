//! Vertex welding: merges equal vertices.
//!
//! Two vertices are equal when every attribute is equal bit for bit, with -0.0 equal to 0.0. Vertices are
//! never merged because they are near: that would move seams. The result is in the order of first use by the
//! triangles; unused vertices are dropped.
//!
//! Kiln's own code instead of `meshopt::generate_vertex_remap_multi`, because that is as fast on one thread
//! only (a sphere with every corner a vertex of its own: 9.8 ms here and 10.1 ms there for 196,608 corners,
//! 373 ms and 303 ms for 3,145,728; `own_code` in `bench/mesh`), while the hash-partitioned shards here run
//! on all threads. It also compares bytes, so that -0.0 would have to be replaced in a copy of every
//! attribute first, and takes raw pointers. Tangents and LODs use the same table.

use crate::Triangles;
use rayon::prelude::*;

/// A vertex attribute, one element per vertex.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attribute<'a> {
    /// Two floats, such as UVs.
    F2(&'a [[f32; 2]]),
    /// Three floats, such as positions and normals.
    F3(&'a [[f32; 3]]),
    /// Four floats, such as tangents and joint weights.
    F4(&'a [[f32; 4]]),
    /// Four small integers, such as joint indices.
    U4(&'a [[u16; 4]]),
    /// This many words of any content, compared bit for bit.
    Words(&'a [u32], usize),
}

/// A mesh after welding.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Welded {
    /// The triangles in their original order, over the new vertices.
    pub(crate) indices: Vec<u32>,
    /// For each new vertex the first old vertex that it replaces.
    pub(crate) sources: Vec<u32>,
}

/// Merges the vertices of `triangles` that are equal in all `attributes`.
///
/// # Panics
///
/// Panics if an attribute has fewer elements than there are vertices.
pub(crate) fn weld(triangles: Triangles<'_>, attributes: &[Attribute<'_>]) -> Welded {
    for attribute in attributes {
        assert!(attribute.len() >= triangles.vertex_count(), "an attribute is shorter than the vertices");
    }
    let firsts = firsts(triangles.vertex_count(), attributes);
    let (mut sources, mut renamed) = (Vec::new(), vec![NONE; triangles.vertex_count()]);
    let indices = triangles.indices().iter().map(|&old| {
        let name = &mut renamed[firsts[old as usize] as usize];
        if *name == NONE {
            *name = sources.len() as u32;
            sources.push(old);
        }
        *name
    });
    Welded { indices: indices.collect(), sources }
}

/// Returns for each of `count` vertices the first one that is equal in all `attributes` (itself, if it is the
/// first).
///
/// The vertices are partitioned into shards by their hash, so that equal ones are in one shard and each
/// shard's table stays in the cache; the shards are processed in parallel.
pub(crate) fn firsts(count: usize, attributes: &[Attribute<'_>]) -> Vec<u32> {
    let shards = if count < 1 << 15 { 1 } else { SHARDS };
    let shard_of = |hash: u64| (hash >> 32) as usize % shards;
    let hashes: Vec<u64> =
        (0..count).into_par_iter().with_min_len(BLOCK).map(|vertex| hash(attributes, vertex)).collect();
    // The start of each shard's vertices: after those of the previous shards.
    let mut starts = vec![0usize; shards + 1];
    hashes.iter().for_each(|&hash| starts[shard_of(hash) + 1] += 1);
    for at in 1..=shards {
        starts[at] += starts[at - 1];
    }
    let (mut ends, mut dealt) = (starts.clone(), vec![0u32; count]);
    for (vertex, &hash) in hashes.iter().enumerate() {
        let end = &mut ends[shard_of(hash)];
        dealt[*end] = vertex as u32;
        *end += 1;
    }
    let found: Vec<Vec<u32>> = (0..shards)
        .into_par_iter()
        .map(|shard| {
            let held = &dealt[starts[shard]..starts[shard + 1]];
            let mut table = Table::new(held.len());
            let first = |&vertex: &u32| {
                table.find_or_add(hashes[vertex as usize], vertex, |other| {
                    equal(attributes, other as usize, vertex as usize)
                })
            };
            held.iter().map(first).collect()
        })
        .collect();
    let mut firsts = vec![0; count];
    for (&vertex, &first) in dealt.iter().zip(found.iter().flatten()) {
        firsts[vertex as usize] = first;
    }
    firsts
}

/// Returns the elements of `attribute` at `sources`.
pub(crate) fn gather<T: Copy>(attribute: &[T], sources: &[u32]) -> Vec<T> {
    sources.iter().map(|&source| attribute[source as usize]).collect()
}

/// Gathers as [`gather`] does, with -0.0 replaced by 0.0.
pub(crate) fn gather_floats<const N: usize>(attribute: &[[f32; N]], sources: &[u32]) -> Vec<[f32; N]> {
    sources.iter().map(|&source| attribute[source as usize].map(|x| x + 0.0)).collect()
}

const NONE: u32 = u32::MAX;

/// The number of shards of a large mesh.
const SHARDS: usize = 64;

/// Vertices per unit of parallel work.
const BLOCK: usize = 8192;

impl Attribute<'_> {
    fn len(&self) -> usize {
        match self {
            Self::F2(a) => a.len(),
            Self::F3(a) => a.len(),
            Self::F4(a) => a.len(),
            Self::U4(a) => a.len(),
            Self::Words(a, stride) => a.len() / (*stride).max(1),
        }
    }
}

/// Returns the bits that decide equality: adding 0.0 turns -0.0 into 0.0 and leaves the rest unchanged.
#[inline]
fn bits(x: f32) -> u64 {
    u64::from((x + 0.0).to_bits())
}

#[inline]
fn hash(attributes: &[Attribute<'_>], vertex: usize) -> u64 {
    // Multiply and fold: the upper half of each product carries every bit of both factors.
    let fold = |state: u64, word: u64| {
        let product = u128::from(state ^ word) * 0x9e37_79b9_7f4a_7c15;
        (product >> 64) as u64 ^ product as u64
    };
    let mut state = 0x2545_f491_4f6c_dd1d;
    for attribute in attributes {
        match attribute {
            Attribute::F2(a) => {
                let [x, y] = a[vertex];
                state = fold(state, bits(x) | bits(y) << 32);
            }
            Attribute::F3(a) => {
                let [x, y, z] = a[vertex];
                state = fold(fold(state, bits(x) | bits(y) << 32), bits(z));
            }
            Attribute::F4(a) => {
                let [x, y, z, w] = a[vertex];
                state = fold(fold(state, bits(x) | bits(y) << 32), bits(z) | bits(w) << 32);
            }
            Attribute::U4(a) => {
                let word = a[vertex].iter().fold(0, |word, &x| word << 16 | u64::from(x));
                state = fold(state, word);
            }
            Attribute::Words(a, stride) => {
                state = a[vertex * stride..][..*stride].iter().fold(state, |state, &w| fold(state, w.into()));
            }
        }
    }
    state
}

#[inline]
fn equal(attributes: &[Attribute<'_>], a: usize, b: usize) -> bool {
    fn floats<const N: usize>(x: [f32; N], y: [f32; N]) -> bool {
        x.map(bits) == y.map(bits)
    }
    attributes.iter().all(|attribute| match attribute {
        Attribute::F2(v) => floats(v[a], v[b]),
        Attribute::F3(v) => floats(v[a], v[b]),
        Attribute::F4(v) => floats(v[a], v[b]),
        Attribute::U4(v) => v[a] == v[b],
        Attribute::Words(v, stride) => v[a * stride..][..*stride] == v[b * stride..][..*stride],
    })
}

/// A hash table with open addressing over (upper hash bits, vertex) pairs: most misses need no access to a
/// vertex.
struct Table {
    slots: Vec<(u32, u32)>,
    shift: u32,
}

impl Table {
    fn new(count: usize) -> Self {
        let slots = (count + count / 2 + 8).next_power_of_two();
        Self { slots: vec![(0, NONE); slots], shift: 64 - slots.trailing_zeros() }
    }

    /// Returns the vertex stored for an equal vertex, or stores and returns `new`.
    #[inline]
    fn find_or_add(&mut self, hash: u64, new: u32, same: impl Fn(u32) -> bool) -> u32 {
        let (mask, tag) = (self.slots.len() - 1, hash as u32);
        let mut at = (hash >> self.shift) as usize & mask;
        loop {
            let (stored, name) = self.slots[at];
            if name == NONE {
                self.slots[at] = (tag, new);
                return new;
            }
            if stored == tag && same(name) {
                return name;
            }
            at = (at + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn keeps_first_use_order_and_merges_signed_zeros() {
        let positions =
            [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [-0.0, 0.0, -0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]];
        let indices = [2, 3, 4, 1, 0, 2];
        let welded = weld(Triangles::new(&indices, 5).unwrap(), &[Attribute::F3(&positions)]);
        assert_eq!(welded, Welded { indices: vec![0, 1, 2, 0, 1, 0], sources: vec![2, 3, 4] });
        assert!(gather_floats(&positions, &welded.sources)[0].iter().all(|x| x.is_sign_positive()));
    }

    #[test]
    fn any_attribute_prevents_welding() {
        let uv = [[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]];
        let joints = [[0; 4], [0; 4], [0, 0, 0, 1]];
        let indices = [0, 1, 2];
        let triangles = Triangles::new(&indices, 3).unwrap();
        assert_eq!(weld(triangles, &[Attribute::F2(&uv)]).sources, [0, 1]);
        assert_eq!(weld(triangles, &[Attribute::F2(&uv), Attribute::U4(&joints)]).sources, [0, 1, 2]);
        assert_eq!(weld(triangles, &[]).sources, [0]);
    }

    #[test]
    fn empty_mesh_welds_to_empty_mesh() {
        assert_eq!(
            weld(Triangles::new(&[], 4).unwrap(), &[Attribute::F3(&[[0.0; 3]; 4])]),
            Welded::default()
        );
    }

    #[test]
    fn large_meshes_weld_across_shards() {
        // Every third vertex twice, far apart in the list.
        let count = 100_000u32;
        let positions: Vec<[f32; 3]> =
            (0..count).map(|i| if i % 3 == 2 { i - 2 } else { i }).map(|i| [i as f32, 0.5, -1.0]).collect();
        let indices: Vec<u32> = (0..count - 1).rev().collect();
        let welded = weld(Triangles::new(&indices, count as usize).unwrap(), &[Attribute::F3(&positions)]);
        assert_eq!(welded.sources.len(), 66_666);
        assert!(indices.iter().zip(&welded.indices).all(|(&old, &new)| {
            positions[old as usize] == positions[welded.sources[new as usize] as usize]
        }));
        assert_eq!(welded.indices[..4], [0, 1, 0, 2]);
    }

    proptest! {
        /// Compared with a map, over values that collide often.
        #[test]
        fn matches_a_map(
            positions in prop::collection::vec(prop::array::uniform3(prop::sample::select(vec![0.0f32, -0.0, 1.0, 2.5])), 1..60),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        ) {
            let mut indices: Vec<u32> = picks.iter().map(|p| p.index(positions.len()) as u32).collect();
            indices.truncate(indices.len() / 3 * 3);
            let welded = weld(Triangles::new(&indices, positions.len()).unwrap(), &[Attribute::F3(&positions)]);
            let mut names = HashMap::new();
            let expected: Vec<u32> = indices
                .iter()
                .map(|&i| {
                    let next = names.len() as u32;
                    *names.entry(positions[i as usize].map(|x| (x + 0.0).to_bits())).or_insert(next)
                })
                .collect();
            prop_assert_eq!(&welded.indices, &expected);
            prop_assert_eq!(welded.sources.len(), names.len());
            // Each corner still has its position.
            for (&old, &new) in indices.iter().zip(&welded.indices) {
                prop_assert_eq!(positions[old as usize], positions[welded.sources[new as usize] as usize]);
            }
        }
    }
}
