use super::*;

/// Runs a command and returns its outcome and its progress.
async fn run_to_end(command: &str, cancel: &CancellationToken) -> (ShellOutput, String) {
    let directory = tempfile::tempdir().unwrap();
    let (sender, mut receiver) = mpsc::channel::<String>(PROGRESS_QUEUE);
    let progress = async {
        let mut progress = String::new();
        while let Some(text) = receiver.recv().await {
            progress.push_str(&text);
            if progress.contains("stop me") {
                cancel.cancel();
            }
        }
        progress
    };
    let run = run(directory.path(), command.to_owned(), cancel, sender);
    match tokio::join!(run, progress) {
        (Input::Shell(ShellInput::Ended(output)), progress) => (output, progress),
        (other, _) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn both_streams_and_the_exit_code_are_reported() {
    let command = "echo out; echo err >&2; exit 7";
    let (output, progress) = run_to_end(command, &CancellationToken::new()).await;
    assert_eq!(
        output,
        ShellOutput {
            command: command.to_owned(),
            output: "out\nerr\n".to_owned(),
            ending: "exit code 7".to_owned(),
        }
    );
    assert_eq!(progress, "out\nerr\n");
}

#[tokio::test]
async fn the_end_of_a_long_output_is_kept() {
    let command = "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo the end";
    let (output, progress) = run_to_end(command, &CancellationToken::new()).await;
    let text = output.output;
    assert!(text.starts_with("[beginning omitted]\nx"), "{text}");
    assert!(text.ends_with("x\nthe end\n"), "{text}");
    assert!(text.len() < MAX_SHELL_OUTPUT_BYTES + 100);
    assert_eq!(progress.len(), 1_000_009);
}

#[tokio::test]
async fn stopped_and_killed_commands_report_it() {
    let (output, _) = run_to_end("echo stop me; sleep 600", &CancellationToken::new()).await;
    assert_eq!((&*output.output, &*output.ending), ("stop me\n", "stopped"));
    let (output, _) = run_to_end("kill -9 $$", &CancellationToken::new()).await;
    assert!(output.ending.starts_with("signal: 9"), "{}", output.ending);
}

/// The user's own command gets the user's own environment.
#[tokio::test]
async fn the_environment_is_passed_on() {
    let command = "echo \"${CARGO_PKG_NAME-none}\"";
    let (output, _) = run_to_end(command, &CancellationToken::new()).await;
    assert_eq!(output.output, "zot-tui\n");
}
