//! Colours for code: words, strings, numbers and comments, found by a few rules for each
//! family of languages.
//!
//! Deliberately without grammars: they take more memory than the rest of the chat, and a
//! line must be coloured the moment it arrives.

#[cfg(test)]
mod tests;

use crate::style::{Style, Theme};
use crate::text::Line;

/// What the rules know about a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Language {
    line_comments: &'static [&'static str],
    block_comment: Option<(&'static str, &'static str)>,
    quotes: &'static str,
    keywords: &'static str,
}

const C_COMMENT: Option<(&str, &str)> = Some(("/*", "*/"));

const RUST: Language = Language {
    line_comments: &["//"],
    block_comment: C_COMMENT,
    quotes: "\"",
    keywords: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while",
};
const C_LIKE: Language = Language {
    line_comments: &["//"],
    block_comment: C_COMMENT,
    quotes: "\"'`",
    keywords: "abstract any as async await bool break case catch char class const continue default defer delete do double else enum export extends extern false final finally float for from func function go goto if implements import in instanceof int interface let long map namespace new nil null of override package private protected public range return short signed sizeof static string struct super switch template this throw true try type typedef typeof undefined union unsigned using val var virtual void volatile while yield",
};
const PYTHON: Language = Language {
    line_comments: &["#"],
    block_comment: None,
    quotes: "\"'",
    keywords: "False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return self try while with yield",
};
const SHELL: Language = Language {
    line_comments: &["#"],
    block_comment: None,
    quotes: "\"'",
    keywords: "break case continue do done elif else esac exit export fi for function if in local return set then unset until while echo cd source",
};
const RUBY: Language = Language {
    line_comments: &["#"],
    block_comment: None,
    quotes: "\"'",
    keywords: "and begin break case class def defined do else elsif end ensure false for if in local module next nil not or redo repeat require rescue retry return self super then true unless until when while yield function",
};
const SQL: Language = Language {
    line_comments: &["--"],
    block_comment: C_COMMENT,
    quotes: "'\"",
    keywords: "add all alter and as asc begin between by case commit create default delete desc distinct drop else end exists from full group having in index inner insert into is join key left like limit not null on or order outer primary references right rollback select set table then union unique update values view when where with",
};
const DATA: Language = Language {
    line_comments: &["#", "//"],
    block_comment: None,
    quotes: "\"'",
    keywords: "true false null yes no on off",
};
const MARKUP: Language = Language {
    line_comments: &[],
    block_comment: Some(("<!--", "-->")),
    quotes: "\"'",
    keywords: "",
};
const LISP: Language = Language {
    line_comments: &[";"],
    block_comment: None,
    quotes: "\"",
    keywords: "def defn defun defmacro define if let let* cond lambda fn nil t set! setq progn begin loop quote",
};
const HASKELL: Language = Language {
    line_comments: &["--"],
    block_comment: Some(("{-", "-}")),
    quotes: "\"",
    keywords: "and case class data deriving do else end false fun function if import in infixl infixr instance let local module newtype nil not of open or rec repeat return sig struct then true type until val where while with for",
};

fn language(name: &str) -> Option<Language> {
    let name = name.split([',', ' ', '{']).next().unwrap_or("");
    Some(match name.to_ascii_lowercase().as_str() {
        "rust" | "rs" => RUST,
        "c" | "h" | "cpp" | "c++" | "cc" | "hpp" | "java" | "js" | "jsx" | "javascript" | "mjs"
        | "ts" | "tsx" | "typescript" | "go" | "golang" | "cs" | "csharp" | "kotlin" | "kt"
        | "swift" | "scala" | "php" | "dart" | "zig" | "css" | "scss" | "proto" | "glsl" => C_LIKE,
        "py" | "python" | "python3" => PYTHON,
        "sh" | "bash" | "zsh" | "shell" | "fish" | "console" | "dockerfile" | "make"
        | "makefile" | "nix" | "perl" | "pl" | "r" => SHELL,
        "rb" | "ruby" | "elixir" | "ex" | "crystal" => RUBY,
        "sql" | "sqlite" | "postgresql" => SQL,
        "json" | "jsonc" | "yaml" | "yml" | "toml" | "ini" | "conf" | "env" => DATA,
        "html" | "xml" | "svg" | "vue" => MARKUP,
        "lisp" | "clojure" | "clj" | "scheme" | "el" => LISP,
        "haskell" | "hs" | "lua" | "ocaml" | "ml" | "elm" => HASKELL,
        _ => return None,
    })
}

/// Colours the lines of one block, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Highlighter {
    language: Option<Language>,
    is_diff: bool,
    in_comment: bool,
}

impl Highlighter {
    /// Chooses a language by the name of a fence or the extension of a file.
    pub(crate) fn new(name: &str) -> Self {
        Self {
            language: language(name),
            is_diff: matches!(name, "diff" | "patch"),
            in_comment: false,
        }
    }

    pub(crate) fn line(&mut self, text: &str, theme: &Theme) -> Line {
        if self.is_diff {
            return diff_line(text, theme);
        }
        let mut line = Line::default();
        let Some(language) = self.language else {
            line.push(text, Style::PLAIN);
            return line;
        };
        let mut rest = text;
        while !rest.is_empty() {
            let (length, style) = self.token(rest, &language, theme);
            let (token, remaining) = rest.split_at(length);
            line.push(token, style);
            rest = remaining;
        }
        line
    }

    /// Returns the length of the token that `rest` begins with, and its style.
    fn token(&mut self, rest: &str, language: &Language, theme: &Theme) -> (usize, Style) {
        if let Some((open, close)) = language.block_comment
            && (self.in_comment || rest.starts_with(open))
        {
            let from = if self.in_comment { 0 } else { open.len() };
            let end = rest[from..].find(close);
            self.in_comment = end.is_none();
            let length = end.map_or(rest.len(), |end| from + end + close.len());
            return (length, theme.comment);
        }
        if language
            .line_comments
            .iter()
            .any(|mark| rest.starts_with(mark))
        {
            return (rest.len(), theme.comment);
        }
        let Some(first) = rest.chars().next() else {
            return (0, Style::PLAIN);
        };
        if language.quotes.contains(first) {
            return (string_length(rest, first), theme.string);
        }
        if first.is_ascii_digit() {
            let is_number = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
            let length = rest.find(|c| !is_number(c)).unwrap_or(rest.len());
            return (length, theme.number);
        }
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        if is_name(first) {
            let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            let word = &rest[..length];
            let is_keyword = |keyword: &str| match language == &SQL {
                true => keyword.eq_ignore_ascii_case(word),
                false => keyword == word,
            };
            let style = match language.keywords.split(' ').any(is_keyword) {
                true => theme.keyword,
                false => Style::PLAIN,
            };
            return (length, style);
        }
        (first.len_utf8(), Style::PLAIN)
    }
}

fn string_length(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (index, character) in rest.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            character if character == quote => return index + character.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// Colours one line of a diff.
pub(crate) fn diff_line(text: &str, theme: &Theme) -> Line {
    let style = match text.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => theme.muted,
        [b'+', ..] => theme.added,
        [b'-', ..] => theme.removed,
        [b'@', ..] => theme.muted,
        _ => Style::PLAIN,
    };
    Line::styled(text, style)
}
