//! "Did you mean": the names nearest to a misspelt one.

/// How many names an error message can usefully offer.
const MAX_SUGGESTIONS: usize = 3;

/// Returns up to three of `candidates` that `wanted` was probably meant to be, most likely first.
///
/// A candidate matches if one name contains the other or if at most a third of it differs.
pub fn nearest_names<'a>(
    wanted: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Vec<&'a str> {
    let wanted = wanted.to_ascii_lowercase();
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut ranked: Vec<((usize, bool), &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let name = candidate.to_ascii_lowercase();
            let distance = strsim::levenshtein(&wanted, &name);
            let related = name.contains(&wanted) || wanted.contains(&name);
            let near = related || distance * 3 <= name.len().max(3);
            near.then_some(((distance, !related), candidate))
        })
        .collect();
    // The sort is stable: equally near names keep the catalog's order.
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.truncate(MAX_SUGGESTIONS);
    ranked.into_iter().map(|(_, candidate)| candidate).collect()
}

#[cfg(test)]
mod tests;
