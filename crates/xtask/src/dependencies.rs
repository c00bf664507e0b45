//! Every foreign crate has its reason in ARCHITECTURE.md.

#[cfg(test)]
mod tests;

/// The crates of `manifest`'s `[workspace.dependencies]` that come from elsewhere.
pub fn foreign_crates(manifest: &str) -> Vec<&str> {
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

/// The crates that `architecture` does not name, as code, in a section about dependencies.
pub fn complaints(manifest: &str, architecture: &str) -> Vec<String> {
    let section = dependency_sections(architecture);
    let missing = foreign_crates(manifest).into_iter().filter(|name| {
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

/// The lines below headings that speak of dependencies, down to the next heading of their level.
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
