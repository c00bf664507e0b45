use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{MAX_SKILLS, SkillDirectories, SkillSet, find_skills};
use crate::SkillSource;

struct Place {
    root: PathBuf,
    _directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["cwd", "home", "user"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        Self {
            root,
            _directory: directory,
        }
    }

    fn skill(&self, directory: &str, description: &str) {
        self.file(
            directory,
            &format!("---\ndescription: {description}\n---\nbody\n"),
        );
    }

    fn file(&self, directory: &str, text: &str) {
        let directory = self.root.join(directory);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("SKILL.md"), text).unwrap();
    }

    fn cwd(&self) -> PathBuf {
        self.root.join("cwd")
    }

    fn directories(&self) -> SkillDirectories {
        let [home, user] = ["home", "user"].map(|name| self.root.join(name));
        SkillDirectories::usual(&self.cwd(), &home, Some(&user))
    }
}

const BUILT_IN: &str = "write-zot-extension";

#[test]
fn the_first_of_a_name_wins() {
    let place = Place::new();
    let order = [
        ("cwd/.zot/skills/s", SkillSource::Project),
        ("home/skills/s", SkillSource::User),
        ("cwd/.claude/skills/s", SkillSource::ProjectClaude),
        ("user/.claude/skills/s", SkillSource::UserClaude),
        ("cwd/.agents/skills/s", SkillSource::ProjectAgents),
        ("user/.agents/skills/s", SkillSource::UserAgents),
    ];
    for (directory, _) in order.iter().rev() {
        place.skill(directory, directory);
    }
    for (directory, source) in order {
        let (found, problems) = find_skills(&place.directories(), &place.cwd());
        assert!(problems.is_empty());
        let set = SkillSet::new(found);
        let skill = set.get("s").unwrap();
        assert_eq!(
            (skill.source, skill.description.as_str()),
            (source, directory)
        );
        fs::remove_dir_all(place.root.join(directory)).unwrap();
    }
}

#[test]
fn hidden_ones_say_by_whom_and_built_in_ones_can_be_replaced() {
    let place = Place::new();
    place.skill(&format!("home/skills/{BUILT_IN}"), "mine");
    let (found, _) = find_skills(&place.directories(), &place.cwd());
    let hidden: Vec<_> = found.iter().map(|found| found.hidden_by).collect();
    assert_eq!(hidden, [None, Some(SkillSource::User)]);
    let set = SkillSet::new(found);
    assert_eq!(set.get(BUILT_IN).unwrap().description, "mine");
}

#[test]
fn broken_ones_are_reported_by_path_and_skipped() {
    let place = Place::new();
    place.skill("cwd/.zot/skills/good", "d");
    place.file("cwd/.zot/skills/bad", "---\ndescription: a: b\n---\nx");
    place.file("home/skills/empty", "");
    fs::create_dir_all(place.root.join("home/skills/not-a-skill")).unwrap();
    fs::create_dir_all(place.root.join("home/skills/directory/SKILL.md")).unwrap();
    fs::write(place.root.join("home/skills/file"), "").unwrap();
    let (found, problems) = find_skills(&place.directories(), &place.cwd());
    let names: Vec<_> = found.iter().map(|found| &found.skill.name).collect();
    assert_eq!(names, ["good", BUILT_IN]);
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 3, "{problems:?}");
    for (problem, expected) in problems.iter().zip([
        "cwd/.zot/skills/bad/SKILL.md: line 2: ",
        "home/skills/directory/SKILL.md: is a directory, expected a regular file",
        "home/skills/empty/SKILL.md: it needs a description",
    ]) {
        assert!(problem.contains(expected), "{problem}");
    }
}

#[test]
fn links_of_the_user_are_followed_and_those_of_a_project_stay_inside() {
    let place = Place::new();
    place.skill("elsewhere/linked", "d");
    place.skill("cwd/shared/own", "d");
    for (link, target) in [
        ("user/.claude/skills/linked", "elsewhere/linked"),
        ("cwd/.zot/skills/out", "elsewhere/linked"),
        ("cwd/.zot/skills/own", "cwd/shared/own"),
    ] {
        let link = place.root.join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(place.root.join(target), link).unwrap();
    }
    let (found, problems) = find_skills(&place.directories(), &place.cwd());
    let names: Vec<_> = found.iter().map(|found| &found.skill.name).collect();
    assert_eq!(names, ["own", "linked", BUILT_IN]);
    assert_eq!(problems.len(), 1);
    assert!(problems[0].to_string().contains("leads out"));
}

#[test]
fn one_directory_is_looked_into_once_and_the_count_is_limited() {
    let place = Place::new();
    for number in 0..MAX_SKILLS + 3 {
        place.skill(&format!("cwd/.claude/skills/s{number:04}"), "d");
    }
    let directories = SkillDirectories::usual(&place.cwd(), Path::new("/none"), Some(&place.cwd()));
    let (found, problems) = find_skills(&directories, &place.cwd());
    assert_eq!(found.len(), MAX_SKILLS + 1);
    assert!(found.iter().all(|found| found.hidden_by.is_none()));
    assert_eq!(problems.len(), 1);
}

#[test]
fn the_manifest_has_a_line_for_each() {
    let place = Place::new();
    place.skill("cwd/.zot/skills/deploy", "Puts it out.");
    let (found, _) = find_skills(&place.directories(), &place.cwd());
    let manifest = SkillSet::new(found).manifest();
    assert!(manifest.contains("\n- deploy: Puts it out.\n- write-zot-extension: "));
}

#[test]
fn a_skill_is_read_when_it_is_used() {
    let place = Place::new();
    place.skill("cwd/.zot/skills/s", "d");
    let (found, _) = find_skills(&place.directories(), &place.cwd());
    let set = SkillSet::new(found);
    place.file(
        "cwd/.zot/skills/s",
        "---\ndescription: d\nallowed-tools: read\n---\nnew body\n",
    );
    let (skill, body) = set.get("s").unwrap().load().unwrap();
    assert_eq!(body, "new body\n");
    assert!(skill.allowed_tools.is_some());
    fs::remove_dir_all(place.root.join("cwd/.zot")).unwrap();
    assert!(set.get("s").unwrap().load().is_err());
}
