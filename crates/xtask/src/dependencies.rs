//! Checks that ARCHITECTURE.md lists every external crate.

#[cfg(test)]
mod tests;

/// Returns the external crates in `[workspace.dependencies]` of `manifest`.
pub fn external_crates(manifest: &str) -> Vec<&str> {
    manifest
        .lines()
        .skip_while(|line| line.trim() != "[workspace.dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| line.starts_with(|c: char| c.is_ascii_alphanumeric()))
        .filter(|line| !line.contains("path ="))
        .filter_map(|line| Some(line.split_once('=')?.0.trim()))
        .collect()
}

/// Returns the crates that no section about dependencies of `architecture` names.
pub fn problems(manifest: &str, architecture: &str) -> Vec<String> {
    let section = dependency_sections(architecture);
    let missing = external_crates(manifest).into_iter().filter(|name| {
        let name = format!("`{name}`");
        !section.iter().any(|line| line.contains(&name))
    });
    missing
        .map(|name| {
            format!(
                "`{name}` is not in ARCHITECTURE.md: say under a heading about dependencies why \
                 it is needed"
            )
        })
        .collect()
}

/// Returns the lines below headings about dependencies, up to the next heading of the same level.
fn dependency_sections(document: &str) -> Vec<&str> {
    let mut inside: Option<usize> = None;
    let mut lines = Vec::new();
    for line in document.lines() {
        let level = line.chars().take_while(|&c| c == '#').count();
        if level > 0 && inside.is_none_or(|open| level <= open) {
            let about = line.to_lowercase().contains("dependenc");
            inside = about.then_some(level);
        }
        if inside.is_some() {
            lines.push(line);
        }
    }
    lines
}
