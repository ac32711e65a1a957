//! Cycles and longest paths in a graph. Nothing recurses, because a chain of definitions can be long enough to overflow
//! the stack.

/// Returns the strongly connected component of each node, or `None` if the node is on no cycle (Kosaraju's algorithm).
pub fn cycles(edges: &[Vec<usize>]) -> Vec<Option<usize>> {
    let order = finishing_order(edges);
    let mut reverse = vec![Vec::new(); edges.len()];
    for (from, targets) in edges.iter().enumerate() {
        for &to in targets {
            reverse[to].push(from);
        }
    }
    let mut component = vec![usize::MAX; edges.len()];
    let mut sizes = Vec::new();
    for &root in order.iter().rev() {
        if component[root] != usize::MAX {
            continue;
        }
        let (id, mut size, mut stack) = (sizes.len(), 0, vec![root]);
        component[root] = id;
        while let Some(node) = stack.pop() {
            size += 1;
            for &next in &reverse[node] {
                if component[next] == usize::MAX {
                    component[next] = id;
                    stack.push(next);
                }
            }
        }
        sizes.push(size);
    }
    (0..edges.len())
        .map(|node| (sizes[component[node]] > 1 || edges[node].contains(&node)).then_some(component[node]))
        .collect()
}

/// Returns the length of the longest path from each node, in edges. The graph must be acyclic.
pub fn heights(edges: &[Vec<usize>]) -> Vec<usize> {
    let mut heights = vec![0; edges.len()];
    for node in finishing_order(edges) {
        heights[node] = edges[node].iter().map(|&next| heights[next] + 1).max().unwrap_or(0);
    }
    heights
}

fn finishing_order(edges: &[Vec<usize>]) -> Vec<usize> {
    let (mut seen, mut order) = (vec![false; edges.len()], Vec::new());
    for root in 0..edges.len() {
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        let mut stack = vec![(root, 0)];
        while let Some((node, edge)) = stack.pop() {
            match edges[node].get(edge) {
                None => order.push(node),
                Some(&next) => {
                    stack.push((node, edge + 1));
                    if !std::mem::replace(&mut seen[next], true) {
                        stack.push((next, 0));
                    }
                }
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    #[test]
    fn finds_cycles() {
        let cycles = super::cycles(&[vec![1], vec![2], vec![1, 3], vec![], vec![4]]);
        assert!(cycles[0].is_none() && cycles[3].is_none());
        assert!(cycles[1].is_some() && cycles[1] == cycles[2]);
        assert!(cycles[4].is_some() && cycles[4] != cycles[1]);
    }

    #[test]
    fn finds_long_paths() {
        assert_eq!(super::heights(&[vec![1, 3], vec![2], vec![3], vec![], vec![0]]), [3, 2, 1, 0, 4]);
    }
}
