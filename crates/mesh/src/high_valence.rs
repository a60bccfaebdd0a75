//! High-valence vertices, split into copies.
//!
//! The order and meshlet algorithms look at every remaining triangle of a vertex again and again: a fan of a million
//! triangles around one vertex, or a million collapsed triangles on one point, would keep them busy for hours. So no
//! vertex is left with more than [`MAX_VALENCE`] corners; each further batch gets a copy. An ordinary mesh stays as it
//! is.

/// The poles of a finely divided sphere have about this many.
pub(crate) const MAX_VALENCE: u32 = 1024;

/// True if a vertex has more than [`MAX_VALENCE`] corners.
pub(crate) fn is_any(indices: &[u32], vertex_count: usize) -> bool {
    let mut corners = vec![0u32; vertex_count];
    let mut found = false;
    for &index in indices {
        corners[index as usize] += 1;
        found |= corners[index as usize] > MAX_VALENCE;
    }
    found
}

/// Renames corners of high-valence vertices and returns, for each vertex added after the first `vertex_count`, the vertex
/// it copies.
pub(crate) fn split(indices: &mut [u32], vertex_count: usize) -> Vec<u32> {
    if !is_any(indices, vertex_count) {
        return Vec::new();
    }
    let mut copies = Vec::new();
    // The copy in use for a vertex, and how many corners it has taken.
    let mut current: Vec<(u32, u32)> = (0..vertex_count as u32).map(|vertex| (vertex, 0)).collect();
    for index in indices {
        let (name, taken) = &mut current[*index as usize];
        if *taken == MAX_VALENCE {
            (*name, *taken) = ((vertex_count + copies.len()) as u32, 0);
            copies.push(*index);
        }
        *taken += 1;
        *index = *name;
    }
    copies
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fan_is_cut_into_batches_and_a_plain_mesh_is_left_alone() {
        let mut plain = vec![0, 1, 2, 2, 1, 3];
        assert!(split(&mut plain, 4).is_empty());
        assert_eq!(plain, [0, 1, 2, 2, 1, 3]);

        let fan: Vec<u32> = (0..3000).flat_map(|i| [0, 1 + i, 2 + i]).collect();
        let mut cut = fan.clone();
        let copies = split(&mut cut, 3002);
        assert_eq!(copies, [0, 0]);
        let original = |index: u32| if index < 3002 { index } else { copies[index as usize - 3002] };
        assert!(cut.iter().map(|&index| original(index)).eq(fan.iter().copied()));
        for hub in [0, 3002, 3003] {
            assert!(cut.iter().filter(|&&index| index == hub).count() <= MAX_VALENCE as usize);
        }
    }
}
