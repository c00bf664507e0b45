//! Prints what an extension does, for its author.

use std::io;

use zot_sdk::extensions::DevEvent;
use zot_sdk::extensions::check::{
    CommandAction, ExtensionFrame, ExtensionOutput, Introduction, PanelContent,
};

use crate::output::write_line as print_line;
use crate::text::one_line;

pub(super) fn write(event: DevEvent<'_>) -> io::Result<()> {
    match event {
        DevEvent::Started(introduction) => write_introduction(introduction),
        DevEvent::Output(output) => write_output(output),
        DevEvent::Shortfall(shortfall) => print_line(format_args!("! {}", one_line(shortfall))),
        DevEvent::Stopped { problem } => {
            print_line(format_args!("! {problem}; waiting for a change"))
        }
        DevEvent::Rejected { problem } => print_line(format_args!("! {problem}")),
        DevEvent::Saved { path } => {
            print_line(format_args!("~ {} changed: restarting", path.display()))
        }
    }
}

fn write_introduction(introduction: &Introduction) -> io::Result<()> {
    let hello = &introduction.hello;
    print_line(format_args!(
        "+ {} {} is running",
        one_line(&hello.name),
        one_line(&hello.version)
    ))?;
    for command in &introduction.commands {
        write_registration("command /", &command.name, &command.description)?;
    }
    for tool in &introduction.tools {
        write_registration("tool ", &tool.name, &tool.description)?;
    }
    let subscription = &introduction.subscription;
    for (what, names) in [
        ("watches", &subscription.events),
        ("intercepts", &subscription.intercept),
    ] {
        if !names.is_empty() {
            print_line(format_args!("+ {what} {}", one_line(&names.join(", "))))?;
        }
    }
    Ok(())
}

fn write_registration(kind: &str, name: &str, description: &str) -> io::Result<()> {
    let description = match description {
        "" => String::new(),
        description => format!(": {}", one_line(description)),
    };
    print_line(format_args!("+ {kind}{}{description}", one_line(name)))
}

fn write_output(output: &ExtensionOutput) -> io::Result<()> {
    match output {
        ExtensionOutput::Frame(frame) => write_frame(frame),
        ExtensionOutput::Log(line) => print_line(format_args!("stderr: {}", line)),
        ExtensionOutput::Unusable { line, error } => print_line(format_args!(
            "! {}: {}",
            one_line(&error.to_string()),
            one_line(line)
        )),
        ExtensionOutput::TooLong => {
            print_line(format_args!("! a line of more than 16 MiB was dropped"))
        }
        ExtensionOutput::StdoutClosed | ExtensionOutput::StreamsClosed => Ok(()),
    }
}

fn write_frame(frame: &ExtensionFrame) -> io::Result<()> {
    match frame {
        ExtensionFrame::RegisterCommand { name, description } => {
            write_registration("command /", name, description)
        }
        ExtensionFrame::RegisterTool {
            name, description, ..
        } => write_registration("tool ", name, description),
        ExtensionFrame::CommandResponse(response) => {
            if !response.error.is_empty() {
                print_line(format_args!("< error: {}", response.error))?;
            }
            match &response.action {
                CommandAction::Prompt { prompt } => {
                    print_line(format_args!("< prompt: {}", prompt))
                }
                CommandAction::Insert { insert } => {
                    print_line(format_args!("< insert: {}", insert))
                }
                CommandAction::Display { display } => {
                    print_line(format_args!("< display: {}", display))
                }
                CommandAction::OpenPanel { open_panel } => {
                    write_panel(&open_panel.id, &open_panel.content)
                }
                CommandAction::Noop => print_line(format_args!("< noop")),
            }
        }
        ExtensionFrame::ToolResult(result) => {
            let outcome = if result.is_error { "error" } else { "result" };
            if result.content.is_empty() {
                return print_line(format_args!("< {outcome}: (no content)"));
            }
            for block in &result.content {
                match block.kind.as_str() {
                    "text" => print_line(format_args!("< {outcome}: {}", block.text))?,
                    kind => print_line(format_args!(
                        "< {outcome}: [{} {}]",
                        one_line(kind),
                        one_line(&block.mime_type)
                    ))?,
                }
            }
            Ok(())
        }
        ExtensionFrame::Notify { level, message } => {
            print_line(format_args!("* {}: {}", one_line(level), message))
        }
        ExtensionFrame::PanelRender { panel_id, content } => write_panel(panel_id, content),
        ExtensionFrame::PanelClose { panel_id } => {
            print_line(format_args!("< panel {} closed", one_line(panel_id)))
        }
        ExtensionFrame::Hello(_)
        | ExtensionFrame::Ready
        | ExtensionFrame::Subscribe(_)
        | ExtensionFrame::EventInterceptResponse(_)
        | ExtensionFrame::ShutdownAck => Ok(()),
    }
}

fn write_panel(id: &str, content: &PanelContent) -> io::Result<()> {
    print_line(format_args!(
        "< panel {}: {}",
        one_line(id),
        one_line(&content.title)
    ))?;
    for line in &content.lines {
        print_line(format_args!("  | {}", one_line(line)))?;
    }
    match content.footer.as_str() {
        "" => Ok(()),
        footer => print_line(format_args!("  | {}", one_line(footer))),
    }
}
