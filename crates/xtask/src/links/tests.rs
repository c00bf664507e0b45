use super::{anchors, problems, relative_targets};

#[test]
fn targets_are_found_in_prose_only() {
    let text = "See [a](docs/a.md), [b](b.md#part \"title\") and ![c](c.png).\n\
                [web](https://example.com/x) [mail](mailto:a@b.c) [here](#part) [later]({{url}})\n\
                `[code](no.md)` [after](d.md)\n\
                ```\n[fenced](no.md)\n```\n\
                [label]: e.md\n";
    let found = relative_targets(text);
    let found: Vec<(usize, &str)> = found
        .iter()
        .map(|(line, target)| (*line, &**target))
        .collect();
    assert_eq!(
        found,
        [
            (1, "docs/a.md"),
            (1, "b.md#part"),
            (1, "c.png"),
            (2, "#part"),
            (3, "d.md"),
            (7, "e.md")
        ]
    );
}

#[test]
fn a_link_is_resolved_from_its_document() {
    let workdir = testkit::Workdir::new("links");
    workdir.write(
        "README.md",
        "# Top\n[guide](docs/guide.md) [gone](docs/gone.md)",
    );
    workdir.write(
        "docs/guide.md",
        "[up](../README.md#top) [root](/README.md) [bad](README.md)",
    );
    assert_eq!(
        problems(&workdir.path()).unwrap(),
        [
            "README.md:2: missing file docs/gone.md",
            "docs/guide.md:1: missing file README.md"
        ]
    );
}

#[test]
fn anchors_are_named_as_github_names_them() {
    let text =
        "# `zot --json`\n## What's new?\n```sh\n# no heading\n```\n## Limits\n#tag\n### Limits\n";
    assert_eq!(
        anchors(text),
        ["zot---json", "whats-new", "limits", "limits-1"]
    );
}

#[test]
fn a_link_to_a_missing_heading_is_a_problem() {
    let workdir = testkit::Workdir::new("link-headings");
    workdir.write(
        "README.md",
        "# Top\n[a](#top) [b](#gone) [c](guide.md#part) [d](guide.md#top)\n[e](run.sh#L1)\n",
    );
    workdir.write("guide.md", "## Part\n");
    workdir.write("run.sh", "");
    assert_eq!(
        problems(&workdir.path()).unwrap(),
        [
            "README.md:2: missing heading #gone",
            "README.md:2: missing heading guide.md#top"
        ]
    );
}
