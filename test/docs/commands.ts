/**
 * Every shell command that README and docs show in a block, and who runs it. A new one must be listed here, else a test fails.
 *
 *   here   test/e2e/doc-commands.test.ts runs it as it stands, on the scene that the word names; words for a person to fill in replaced
 *   by     that test, script or stage runs it
 *   not    why nothing does
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { commandsOf, shellFences } from '../../scripts/docs/script.js';

/** `approval`: a run waits for it; `refused`: a run waits for attempts_exhausted; `serves`: it goes on until it is told to end. */
export type Given = 'nothing' | 'approval' | 'refused' | 'serves';
export type Runner = { readonly here: Given } | { readonly by: string } | { readonly not: string };

export interface DocCommand {
  readonly file: string;
  readonly line: number;
  /** Without its comment. */
  readonly command: string;
  /** As it stands. */
  readonly text: string;
}

const documents = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('decisions'))
    .map((name) => join(dir, name));
export const DOCUMENTS: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...documents('docs'),
];

const withoutComment = (text: string): string => text.replace(/\s+#\s.*$/m, '').trim();

export const docCommands = (): readonly DocCommand[] =>
  DOCUMENTS.flatMap((file) =>
    shellFences(readFileSync(file, 'utf8')).flatMap(({ text, line }) =>
      commandsOf(text).map((command) => ({
        file,
        line,
        command: withoutComment(command),
        text: command,
      })),
    ),
  );

const TUTORIAL: Runner = { by: 'test/e2e/doc-commands.test.ts' };
const PACKED: Runner = { by: 'test/e2e/package.test.ts' };
const FILL_IN: Runner = { not: 'sets a key of yours' };
const NO_DOCKER: Runner = {
  not: 'no Docker engine here; test/temporal/operations.test.ts reads the file',
};
const NO_OLLAMA: Runner = { not: 'no Ollama here' };
const NO_CLOUD: Runner = { not: 'no account of Temporal Cloud here' };
const MEASURE: Runner = { not: 'minutes of measuring, done by hand for docs/measures.md' };
const MODEL: Runner = { not: 'hours with a real model; its parts: test/e2e/exam.test.ts' };
const TEMPORAL_LINE: Runner = { by: 'test/e2e/temporal-cli.test.ts' };
const DOCTOR_MODEL: Runner = { by: 'test/cli/doctor-model.test.ts' };

/** Of all documents but the tutorial, which is run as a whole. */
const RUNNERS: Readonly<Record<string, Runner>> = {
  'npm ci': { by: '.ci/run' },
  'npm test': { by: '.ci/run' },
  'npm ci && npm run build && npm pack': PACKED,
  'npm pack': PACKED,
  'npm install --global ./emend-0.1.0.tgz': PACKED,
  'time npm install --global --prefix "$(mktemp -d)" ./emend-0.1.0.tgz': PACKED,
  'npm run demo': { by: 'test/e2e/demo.test.ts' },
  'npm run demo:plan': { by: 'test/e2e/demo-plan.test.ts' },
  'npm run chaos -- --kills 10 --seed 7': { by: 'scripts/test.js' },
  'git show': { here: 'nothing' },

  'git config --global gpg.format ssh': FILL_IN,
  'git config --global user.signingkey ~/.ssh/id_ed25519.pub': FILL_IN,
  'ssh-add -c ~/.ssh/id_ed25519': FILL_IN,
  "ssh-keygen -t ed25519 -N '' -f ~/.ssh/emend_evidence": FILL_IN,
  'emend evidence RUN': { by: 'test/e2e/evidence.test.ts' },
  'emend evidence verify evidence.json --repository . --archive 9f3a39f8…': {
    by: 'test/e2e/evidence.test.ts',
  },
  'export ANTHROPIC_API_KEY=…': FILL_IN,
  'export ANTHROPIC_API_KEY=sk-ant-…': FILL_IN,
  'emend dev': TUTORIAL,
  'emend worker': { here: 'serves' },
  'emend worker --deployment': { by: 'test/e2e/deploys.test.ts' },
  'temporal worker deployment set-current-version --deployment-name emend --build-id "$(emend --version)" --yes':
    { by: 'test/e2e/deploys.test.ts' },
  'temporal worker deployment set-current-version --deployment-name emend --unversioned --yes': {
    by: 'test/e2e/deploys.test.ts',
  },
  'temporal worker deployment set-ramping-version --deployment-name emend --build-id "$(emend --version)" --percentage 10 --yes':
    { by: 'test/e2e/deploys.test.ts' },
  'emend replay': { by: 'test/e2e/deploys.test.ts' },
  'emend web': { here: 'serves' },
  'emend rehearse script.yaml --port 8077': { here: 'serves' },
  'emend doctor': { here: 'nothing' },
  'emend doctor --deep': { by: 'test/client/files/verify.test.ts' },
  'emend backup ~/emend-2026-01-31.backup': { by: 'test/e2e/home-files.test.ts' },
  'emend restore ~/emend-2026-01-31.backup': { by: 'test/e2e/home-files.test.ts' },
  'emend hosts': { by: 'test/e2e/hosts.test.ts' },
  'emend hosts --json': { by: 'test/e2e/hosts.test.ts' },
  'export EMEND_HOME=/srv/emend-2 EMEND_STORE=s3://emend/team': { by: 'test/e2e/hosts.test.ts' },
  'emend hosts adopt 3f2a90c1': { by: 'test/e2e/hosts.test.ts' },
  'export TEMPORAL_ADDRESS=temporal.example.com:7233 TEMPORAL_NAMESPACE=emend': {
    not: 'names a server of yours',
  },
  'export EMEND_STORE=s3://emend/team': { by: 'test/e2e/bucket.test.ts' },
  'emend worker --roles workflows,model --metrics 127.0.0.1:9464 --health 127.0.0.1:9465': {
    by: 'test/e2e/watching.test.ts',
  },
  'emend worker --roles hosts': { by: 'test/e2e/roles.test.ts' },
  'emend worker --roles workflows,model --deployment': { by: 'test/e2e/deploys.test.ts' },
  'emend run jobs/greet.md --repository https://git.example.com/team/shop.git --base main --yes --wait':
    {
      by: 'test/e2e/repository.test.ts',
    },
  'emend list': { here: 'nothing' },
  'emend list --search "greeting parser" --repository . --limit 200': { here: 'nothing' },
  'emend list --before 2026-11-30': { here: 'nothing' },
  'export EMEND_HOME=/srv/emend-2': { by: 'test/e2e/hosts.test.ts' },
  'emend hosts adopt da946609': { by: 'test/e2e/hosts.test.ts' },
  'curl -s http://127.0.0.1:9465/readyz': { by: 'test/e2e/watching.test.ts' },
  'curl -s http://127.0.0.1:9464/metrics | grep ^emend_': { by: 'test/e2e/watching.test.ts' },
  'emend move RUN --to DIR': { by: 'test/e2e/move.test.ts' },
  'emend move RUN --host 9c0d11e2 --to /srv/copy': { by: 'test/e2e/move.test.ts' },
  'emend move RUN --as-repository https://example.org/greet.git': { by: 'test/e2e/move.test.ts' },
  'emend mcp': { by: 'test/e2e/mcp.test.ts' },
  'emend run jobs/polite.md': { here: 'nothing' },
  'emend run -m \'Say "Good day" instead of "hello"\' src/greet.js --test "npm test" --commit': {
    here: 'nothing',
  },
  'emend run jobs/polite.md --dev --policy review.yaml --quiet': { here: 'nothing' },
  'ANTHROPIC_BASE_URL=http://127.0.0.1:8077 emend run job.md --dev': { here: 'nothing' },
  'emend diff RUN && emend approve RUN --decision ID': { here: 'approval' },
  'emend watch RUN': { by: 'test/e2e/terminal.test.ts' },
  'emend decide RUN ANSWER --decision ID': { here: 'approval' },
  'emend decide RUN ANSWER --decision ID --file src/a.ts': { here: 'approval' },
  'emend decide RUN revise --decision ID --note "keep the old name"': { here: 'approval' },
  'emend decide RUN retry --decision ID --set outputBudget_tokens=32768 --set model=claude-opus-4-5':
    {
      here: 'refused',
    },
  'emend run jobs/greet.md --push emend/greet --draft-pr': { by: 'test/cli/publish.test.ts' },
  'emend revise RUN --from-pr': { by: 'test/e2e/from-pr.test.ts' },
  'emend recover': { here: 'nothing' },
  'emend recover --undo RUN': { by: 'test/e2e/terminated.test.ts' },
  'emend recover --keep RUN': { by: 'test/e2e/stop.test.ts' },

  'temporal operator namespace create --namespace emend --retention 30d': { here: 'nothing' },
  'temporal workflow start --task-queue emend --type editStep --input \'{"workspace": "/repo", "task": "Rename greet to hello", "targetFiles": ["a.js"], "test": "npm test", "commit": true}\'':
    { by: 'test/e2e/temporal-cli.test.ts' },
  'temporal workflow start --task-queue emend --type editStep --input \'{"workspace": "/repo", "jobFile": "jobs/x.md", "approval": "ask"}\'':
    { by: 'test/e2e/temporal-cli.test.ts' },
  'temporal workflow start --task-queue emend --type plan --input \'{"workspace": "/repo", "planFile": "plans/010_greet.md"}\'':
    { by: 'test/e2e/temporal-cli.test.ts' },
  'temporal workflow update execute --workflow-id emend/job/greet/e049afb04d33 --name approve --input \'"1-69b1d504-639076ba"\'':
    TEMPORAL_LINE,
  'temporal workflow update execute --workflow-id emend/job/greet/e049afb04d33 --name skip':
    TEMPORAL_LINE,
  'temporal workflow update execute --workflow-id emend/job/greet/e049afb04d33 --name retry':
    TEMPORAL_LINE,
  'temporal workflow update execute --workflow-id emend/job/greet/e049afb04d33 --name revise --input \'{"decision": "1-69b1d504-639076ba", "note": "add an exclamation mark"}\'':
    TEMPORAL_LINE,
  'temporal workflow update execute --workflow-id emend/job/greet/e049afb04d33 --name abort':
    TEMPORAL_LINE,
  'temporal workflow update execute --workflow-id emend/job/greet/e049afb04d33 --name answer --input \'{"decision": "1-69b1d504-639076ba", "answer": "revise", "note": "add an exclamation mark", "by": "ada"}\'':
    TEMPORAL_LINE,
  'temporal workflow signal --workflow-id emend/job/greet/e049afb04d33 --name approve --input \'{"decision": "1-69b1d504-639076ba"}\'':
    TEMPORAL_LINE,
  'temporal workflow signal --workflow-id emend/job/greet/e049afb04d33 --name skip --input \'{"decision": "1-69b1d504-639076ba"}\'':
    TEMPORAL_LINE,
  'temporal workflow signal --workflow-id emend/job/greet/e049afb04d33 --name retry --input \'{"decision": "1-69b1d504-639076ba", "note": "look at the tests"}\'':
    TEMPORAL_LINE,
  'temporal workflow signal --workflow-id emend/job/greet/e049afb04d33 --name revise --input \'{"decision": "1-69b1d504-639076ba", "note": "add an exclamation mark"}\'':
    TEMPORAL_LINE,
  'temporal workflow signal --workflow-id emend/job/greet/e049afb04d33 --name abort': TEMPORAL_LINE,
  'temporal workflow signal --workflow-id emend/job/greet/e049afb04d33 --name answer --input \'{"decision": "1-69b1d504-639076ba", "answer": "skip"}\'':
    TEMPORAL_LINE,
  'temporal workflow signal --query \'EmendReason="model_unavailable"\' --name retry --input \'{"reason": "model_unavailable"}\' --reason \'the model is back\' --yes':
    TEMPORAL_LINE,
  'temporal workflow query --workflow-id emend/job/greet/e049afb04d33 --name status': TEMPORAL_LINE,
  'temporal workflow query --workflow-id emend/job/greet/e049afb04d33 --name ledger': TEMPORAL_LINE,
  'temporal workflow query --workflow-id emend/job/greet/e049afb04d33 --name events --input \'{"after": 3, "limit": 100}\'':
    TEMPORAL_LINE,
  'temporal workflow query --workflow-id emend/job/greet/e049afb04d33 --name proposal':
    TEMPORAL_LINE,

  'emend doctor --model claude-sonnet-4-5': DOCTOR_MODEL,
  'emend doctor --model qwen3-coder': DOCTOR_MODEL,
  'export ANTHROPIC_BASE_URL=http://localhost:11434 ANTHROPIC_AUTH_TOKEN=ollama': NO_OLLAMA,
  'OLLAMA_CONTEXT_LENGTH=32768 ollama serve': NO_OLLAMA,
  'ollama pull qwen3-coder': NO_OLLAMA,
  'export TEMPORAL_PROFILE=cloud ANTHROPIC_API_KEY=sk-ant-…': NO_CLOUD,

  'EMEND_LONG=1 npm run test:cluster': MEASURE,
  'npm run test:cluster -- cluster/lost-hosts': { by: 'scripts/cluster.js' },
  'node bench/starts.js': MEASURE,
  'npm run bench:step -- --only time --only rate --rounds 16 --rate-rounds 4 --steps 30': MEASURE,
  'npm run bench:layers': MEASURE,
  'npm run bench:step -- --only actions': MEASURE,
  'npm run bench:step -- --only budget --rounds 10': MEASURE,
  'strace -f -qq -e trace=fsync,fdatasync -e signal=none -o calls npm run bench:step -- --only budget --rounds 5':
    MEASURE,
  "grep -v resumed calls | awk '{ print $1 }' | sort | uniq -c": MEASURE,
  'BENCH_CPU_PROF=DIR npm run bench:step -- --only budget --rounds 5': MEASURE,
  'node bench/profile.js DIR': MEASURE,
  'npm run bench:tokens -- celery eslint vuejs-core --peer aider/bin/python': MEASURE,
  'npm run bench:page': MEASURE,
  'EMEND_LONG=1 npx jest test/stores/many-runs.test.ts --selectProjects unit': {
    by: 'test/stores/many-runs.test.ts',
  },
  'npm run bench:many': MEASURE,
  'npm run bench:fleet': MEASURE,
  'npm run bench:step -- --only history': MEASURE,
  'npm run bench:step -- --only start --rounds 8': MEASURE,
  'npm run bench:peer -- --peer /tmp/aider/bin/aider --rounds 4': MEASURE,
  'npm run bench:edits -- --rounds 3': MEASURE,
  'npm run first-commit': MEASURE,
  'ANTHROPIC_BASE_URL=http://127.0.0.1:11434 npm run exam:model -- --model qwen2.5-coder --small --format auto,search-replace':
    MODEL,
  'npm run exam:model -- --small --config exam/small-model.yaml --format auto --limit-minutes 12 --model qwen2.5-coder-1.5b-instruct':
    MODEL,
  'npm run exam:model -- --config exam/small-model.yaml --format auto --limit-minutes 5 --model qwen2.5-coder-1.5b-instruct --out others.json':
    MODEL,
  'npm run exam:model -- --lines 20-150 --config exam/small-model.yaml --model qwen2.5-coder-1.5b-instruct --format auto --peer /path/to/aider --limit-minutes 25 --out FILE':
    MODEL,
  'npm run exam:model -- --small --config exam/small-model.yaml --format search-replace,auto --limit-minutes 12 --model qwen2.5-coder-1.5b-instruct':
    MODEL,

  'export AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=…': FILL_IN,
  'export AWS_REGION=us-east-1 AWS_ENDPOINT_URL_S3=http://127.0.0.1:8333 EMEND_STORE_PATH_STYLE=1':
    FILL_IN,
  'EMEND_STORE=s3://BUCKET/PREFIX emend doctor': { by: 'test/e2e/bucket.test.ts' },
  'export EMEND_WORKSPACE=/path/to/your/repository ANTHROPIC_API_KEY=… POSTGRES_PASSWORD=…':
    NO_DOCKER,
  'export AWS_SECRET_ACCESS_KEY=…': NO_DOCKER,
  'export EMEND_WEB_SECRET=…': NO_DOCKER,
  'export EMEND_PACKAGES="python3 python3-pytest"': NO_DOCKER,
  'export EMEND_UID=$(id -u) EMEND_GID=$(id -g)': NO_DOCKER,
  'docker compose up --build --detach --wait': NO_DOCKER,
  'docker compose exec worker emend doctor': NO_DOCKER,
  'docker compose --profile fleet up --build --detach --wait --scale model-worker=3': NO_DOCKER,
  'docker compose exec worker emend run jobs/first.md': NO_DOCKER,
  'docker compose kill --signal SIGKILL temporal postgresql && docker compose up --detach --wait && docker compose exec worker emend list':
    NO_DOCKER,
};

/** Undefined: nobody is named. Commands of several lines go by their first. */
export const runnerOf = ({
  file,
  command,
}: Pick<DocCommand, 'file' | 'command'>): Runner | undefined =>
  file === 'docs/tutorial.md' ? TUTORIAL : RUNNERS[command.split('\n')[0] ?? ''];
export const LISTED: readonly string[] = Object.keys(RUNNERS);
