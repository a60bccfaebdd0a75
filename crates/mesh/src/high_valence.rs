//! Splits high-valence vertices into copies.
//!
//! The vertex cache and meshlet algorithms visit every remaining triangle of a vertex repeatedly: a fan of a
//! million triangles around one vertex, or a million degenerate triangles on one point, would take hours. So
//! no vertex keeps more than [`MAX_VALENCE`] corners; each further batch of corners gets a copy. Ordinary
//! meshes are unchanged.

/// The maximum valence of a vertex. The poles of a finely tessellated sphere have about this many corners.
pub(crate) const MAX_VALENCE: u32 = 1024;

/// Returns true if a vertex has more than [`MAX_VALENCE`] corners.
pub(crate) fn is_any(indices: &[u32], vertex_count: usize) -> bool {
    let mut corners = vec![0u32; vertex_count];
    let mut found = false;
    for &index in indices {
        corners[index as usize] += 1;
        found |= corners[index as usize] > MAX_VALENCE;
    }
    found
}

/// Redirects corners of high-valence vertices to copies. Returns, for each vertex added after the first
/// `vertex_count`, the vertex that it copies.
pub(crate) fn split(indices: &mut [u32], vertex_count: usize) -> Vec<u32> {
    match is_any(indices, vertex_count) {
        true => split_above(indices, vertex_count, MAX_VALENCE),
        false => Vec::new(),
    }
}

/// Redirects corners beyond `limit` of each vertex to copies, like [`split`].
pub(crate) fn split_above(indices: &mut [u32], vertex_count: usize, limit: u32) -> Vec<u32> {
    let mut copies = Vec::new();
    // The current copy of each vertex, and the number of its corners.
    let mut current: Vec<(u32, u32)> = (0..vertex_count as u32).map(|vertex| (vertex, 0)).collect();
    for index in indices {
        let (name, taken) = &mut current[*index as usize];
        if *taken == limit {
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
    fn splits_fans_and_leaves_ordinary_meshes_unchanged() {
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
