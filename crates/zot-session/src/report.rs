//! The problems found in a session file.

/// How many damaged lines are named one by one.
///
/// Limit: further damaged lines are only counted.
const MAX_NAMED_LINES: usize = 8;

/// What was found in addition to whole records. The file itself is not changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadReport {
    /// The file ends in the middle of a record.
    pub torn_tail: Option<TornTail>,
    /// The first of the lines that are not records.
    pub damaged: Vec<DamagedLine>,
    /// How many there are.
    pub damaged_lines: usize,
    /// Records of kinds this version does not know.
    pub unknown_records: usize,
    /// Parts of messages of kinds this version does not know.
    pub unknown_blocks: usize,
    /// The version that wrote the file, when it is newer than this one.
    pub newer_version: Option<String>,
    /// The record that describes the session is missing.
    pub meta_missing: bool,
    /// Results of tool calls taken from a batch that was never finished.
    pub results_recovered: usize,
}

/// The unfinished record at the end of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TornTail {
    /// Where it begins.
    pub offset: u64,
    pub bytes: u64,
}

/// A line that is not a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedLine {
    /// Counted from 1.
    pub line: usize,
    pub offset: u64,
    pub reason: String,
}

impl ReadReport {
    /// Returns whether no problem was found.
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn add_damaged(&mut self, line: DamagedLine) {
        self.damaged_lines += 1;
        if self.damaged.len() < MAX_NAMED_LINES {
            self.damaged.push(line);
        }
    }

    /// Describes each problem in a sentence.
    pub fn findings(&self) -> Vec<String> {
        let mut findings = Vec::new();
        if let Some(TornTail { offset, bytes }) = self.torn_tail {
            findings.push(format!(
                "the last record is cut off ({bytes} bytes from byte {offset}) and left out"
            ));
        }
        for DamagedLine {
            line,
            offset,
            reason,
        } in &self.damaged
        {
            findings.push(format!(
                "line {line} (byte {offset}) is not a record and left out: {reason}"
            ));
        }
        let unnamed = self.damaged_lines.saturating_sub(self.damaged.len());
        if unnamed > 0 {
            findings.push(format!("{unnamed} more lines are not records and left out"));
        }
        if self.unknown_records > 0 {
            findings.push(format!(
                "{} records are of kinds this version does not know, and left out",
                self.unknown_records
            ));
        }
        if self.unknown_blocks > 0 {
            findings.push(format!(
                "{} parts of messages are of kinds this version does not know, and left out",
                self.unknown_blocks
            ));
        }
        if let Some(version) = &self.newer_version {
            findings.push(format!(
                "it was written by zot {version}, which is newer than this one"
            ));
        }
        if self.meta_missing {
            findings.push("the record that says what session this is is missing".to_owned());
        }
        if self.results_recovered > 0 {
            findings.push(format!(
                "{} results were taken from a batch of tool calls that was interrupted",
                self.results_recovered
            ));
        }
        findings
    }
}
