//! Finds the shortest texts of a language.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use super::alphabet::Alphabet;
use super::machine::Machine;
use super::{Language, Undecided};
use crate::steps::{Fuel, Steps};

const MAX_STATES: usize = 100_000;

struct Graph {
    accepts: Vec<bool>,
    /// For each state, the next state per character group.
    next: Vec<Vec<usize>>,
}

pub(super) fn words(language: &Language, count: usize) -> Result<Vec<String>, Undecided> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let alphabet = Alphabet::of(language);
    let graph = Steps::for_text(MAX_STATES).with(|fuel| explore(language, &alphabet, count == 1, fuel))?;
    shortest(&graph, &alphabet, count)
}

/// Builds the graph, but only up to the first accepting state if one is enough.
fn explore(language: &Language, alphabet: &Alphabet, only_first: bool, fuel: &mut Fuel) -> Result<Graph, Undecided> {
    let mut parts = Vec::new();
    language.visit(&mut |part| parts.push(part));
    let mut machines = parts.iter().map(|part| Machine::new(part, fuel)).collect::<Result<Vec<_>, _>>()?;
    let characters = alphabet.representatives();
    let mut states = vec![vec![0_u32; machines.len()]];
    let mut known = HashMap::from([(states[0].clone(), 0)]);
    let mut graph = Graph { accepts: Vec::new(), next: Vec::new() };
    let mut index = 0;
    while let Some(state) = states.get(index).cloned() {
        index += 1;
        let mut answers = machines.iter().zip(&state).map(|(machine, state)| machine.accepts(*state));
        let accepts = language.combine(&mut answers);
        graph.accepts.push(accepts);
        graph.next.push(Vec::new());
        if accepts && only_first {
            break;
        }
        for character in &characters {
            fuel.burn(machines.len())?;
            let after = machines.iter_mut().zip(&state).map(|(machine, state)| machine.next(*state, *character, fuel));
            let after = after.collect::<Result<Vec<u32>, _>>()?;
            let fresh = states.len();
            let target = *known.entry(after.clone()).or_insert(fresh);
            if target == fresh {
                states.push(after);
            }
            graph.next[index - 1].push(target);
        }
        if states.len() > MAX_STATES {
            return Err(Undecided::TooExpensive);
        }
    }
    graph.accepts.resize(states.len(), false);
    graph.next.resize(states.len(), Vec::new());
    Ok(graph)
}

/// Returns each state's distance to the nearest accepting state, or `None` if none is reachable.
fn distances(graph: &Graph) -> Vec<Option<usize>> {
    let mut before = vec![Vec::new(); graph.next.len()];
    for (state, next) in graph.next.iter().enumerate() {
        next.iter().for_each(|target| before[*target].push(state));
    }
    let mut distances: Vec<Option<usize>> = graph.accepts.iter().map(|accepts| accepts.then_some(0)).collect();
    let mut queue: VecDeque<usize> = (0..distances.len()).filter(|state| graph.accepts[*state]).collect();
    while let Some(state) = queue.pop_front() {
        for &earlier in &before[state] {
            if distances[earlier].is_none() {
                distances[earlier] = distances[state].map(|distance| distance + 1);
                queue.push_back(earlier);
            }
        }
    }
    distances
}

/// Follows paths to accepting states, shortest first.
fn shortest(graph: &Graph, alphabet: &Alphabet, count: usize) -> Result<Vec<String>, Undecided> {
    let distances = distances(graph);
    // The texts so far, as a tree. Each entry names the text that it extends (its index plus one, or 0 for the empty
    // text) and the character that it adds.
    let mut texts: Vec<(usize, char)> = Vec::new();
    let mut queue = BinaryHeap::new();
    let mut found = Vec::new();
    if let Some(distance) = distances[0] {
        queue.push((Reverse(distance), 0, Reverse(0), 0));
    }
    while let Some((_, length, Reverse(text), state)) = queue.pop() {
        if graph.accepts[state] {
            found.push(spell(&texts, text));
            if found.len() == count {
                break;
            }
        }
        if texts.len() > MAX_STATES * 10 {
            return Err(Undecided::TooExpensive);
        }
        for (group, &target) in graph.next[state].iter().enumerate() {
            let Some(distance) = distances[target] else { continue };
            for character in alphabet.characters(group).take(count) {
                texts.push((text, character));
                queue.push((Reverse(length + 1 + distance), length + 1, Reverse(texts.len()), target));
            }
        }
    }
    Ok(found)
}

fn spell(texts: &[(usize, char)], mut text: usize) -> String {
    let mut characters = Vec::new();
    while let Some((before, character)) = text.checked_sub(1).map(|index| texts[index]) {
        characters.push(character);
        text = before;
    }
    characters.iter().rev().collect()
}
