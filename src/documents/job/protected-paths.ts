/**
 * Recognizes protected files: those that a program runs, or that an agent follows, without a question. A reviewer sees a change to such a
 * file even under `approval: auto`, with the reason. `protected:` of `emend.yaml` adds patterns, and a pattern with `!` removes files. Pure.
 */
import ignore from 'ignore';
import { posix } from 'node:path';
import { FILES_ONLY, forbiddenBy } from '../source/patterns.js';
import { isRecord } from '../../shared/text.js';

const OBEYED = 'models and agents follow it';
const APPROVES = 'it defines who may approve';
const DOCUMENT = 'Emend obeys it';

/**
 * Gitignore-style patterns by the reason for which they protect a file. A pattern without a slash matches at any depth. A pattern that ends in
 * a slash matches a folder with everything in it.
 */
export const PROTECTED: Readonly<Record<string, string>> = {
  'CI, a release or a deployment runs it': `
    .github/ .gitlab/ .gitlab-ci.yml *.gitlab-ci.yml .circleci/ .buildkite/ .ci/ .azure-pipelines/ .woodpecker/ .forgejo/ .gitea/ .semaphore/ .teamcity/
    .tekton/ .builds/ .build.yml .travis.yml .drone.* .cirrus.* .woodpecker.* .appveyor.yml appveyor.yml azure-pipelines*.yml bitbucket-pipelines.yml
    Jenkinsfile* wercker.yml codefresh.yml cloudbuild*.y*ml buildspec*.y*ml codemagic.yaml bitrise.yml .readthedocs.y*ml netlify.toml vercel.json
    firebase.json Procfile* heroku.yml render.yaml railway.json nixpacks.toml fly.toml serverless.* wrangler.* amplify.yml .platform.app.yaml .releaserc*
    .goreleaser.* renovate.json* .azuredevops/ .zuul.d/ .zuul.yaml zuul.yaml .mergify.yml jitpack.yml vercel.ts appspec.yml .platform/ .ebextensions/
    .profile.d/ railway.toml apprunner.yaml .depot/ .release-it.* **/.changeset/config.json .coderabbit.y*ml .pr_agent.toml
    docker-entrypoint.sh docker-entrypoint.d/ docker-entrypoint-initdb.d/ entrypoint.sh **/debian/rules **/debian/*inst **/debian/*rm PKGBUILD
    APKBUILD *.ebuild *.SlackBuild *.spec snapcraft.yaml`,
  'git runs or follows it': `
    .husky/ .githooks/ .git-hooks/ .gitattributes .gitmodules .gitconfig .lfsconfig .pre-commit-config.y*ml .pre-commit-hooks.y*ml lefthook* .lefthook*
    .overcommit.yml captainhook.json .simple-git-hooks.* .hooks/ git-hooks/ githooks/ simple-git-hooks.* .cz* .hg/ .jj/`,
  'editors, shells or debuggers run it when its folder is opened': `
    .vscode/ .idea/ .fleet/ .zed/ .helix/ .vs/ .nvim/ .vim/ .emacs.d/ .devcontainer/ .devcontainer.json *.code-workspace *.sublime-project .gitpod.*
    devfile.yaml .*rc .*rc.* _*rc .bash_* .zsh* .kshrc .profile .zprofile .zlogin .zlogout config.fish .nvim.lua .dir-locals*.el .emacs .tmux.conf .gdbinit
    .lldbinit *-gdb.py .project mise.toml mise.*.toml .mise.* .mise/ .tool-versions rust-toolchain rust-toolchain.toml .ycm_extra_conf.py .lazy.lua .idx/
    .replit .env hie.yaml startup.m **/mise/config.toml **/mise/conf.d/ .rtx.* .flox/ aqua.yaml .aqua.yaml launchSettings.json
    .mise-tasks/ mise-tasks/ **/mise/tasks/ .autoenv .autoenv.zsh .autoenv.leave .env.leave **/.run/*.run.xml .theia/ .nova/ .lapce/ .externalToolBuilders/
    *.launch compile_commands.json compile_flags.txt .clangd .ccls`,
  [OBEYED]: `
    emend.yaml CLAUDE.md CLAUDE.*.md AGENT.md AGENTS.md AGENTS.*.md GEMINI.md QWEN.md WARP.md SKILL.md mcp.json .mcp.json .claude/ .cursor/ .cursorrules
    .windsurf/ .windsurfrules .cline/ .clinerules .clinerules/ .roo/ .roorules* .roomodes .kilocode/ .continue/ .aider* .codex/ .agents/ .opencode/
    opencode.json* .gemini/ .qwen/ .goosehints .junie/ .amazonq/ .kiro/ .augment/ .augment-guidelines .trae/ .openhands/ .factory/ .crush.json crush.json
    .rules .agent/ .aiassistant/ .goose/ .zencoder/ .tabnine/ .amp/ .pi/ .warp/ .serena/ .antigravity/ .devin/ .jules/ .specify/ .claude-plugin/ .claude.json
    mcp_config.json replit.md`,
  'package managers use it': `
    package.json *.lock *.lockb *.lockfile package-lock.json npm-shrinkwrap.json pnpm-lock.yaml pnpm-workspace.yaml .pnpmfile.* pnpmfile.* .yarn/ .pnp.*
    bunfig.toml deno.json* lerna.json nx.json project.json turbo.json rush.json bower.json pyproject.toml setup.py setup.cfg requirements*.txt *-requirements.txt **/requirements/*.txt
    **/requirements/*.in
    requirements*.in constraints*.txt poetry.toml uv.toml pdm.toml .pdm.toml pylock*.toml Pipfile environment.y*ml conda-lock.yml pixi.toml hatch.toml
    pip.conf buildout.cfg sitecustomize.py usercustomize.py .pythonstartup *.pth Cargo.toml .cargo/ go.mod go.sum go.work go.work.sum Gemfile* gems.rb
    gems.locked *.gemspec .bundle/ composer.json .user.ini php.ini .htaccess mix.exs rebar.config* stack.yaml* package.yaml cabal.project* *.cabal Setup.hs
    Setup.lhs .ghci dune-project *.opam Package.swift Package.resolved Podfile *.podspec Cartfile* Mintfile pubspec.yaml packages.lock.json packages.config
    paket.* nuget.config global.json **/.config/dotnet-tools.json project.clj deps.edn shadow-cljs.edn bb.edn conanfile.* vcpkg*.json shard.yml *.nimble
    nim.cfg build.zig.zon cpanfile *.rockspec .Rprofile .Renviron **/renv/activate.R Project.toml Manifest.toml gleam.toml *.nix guix.scm manifest.scm
    devbox.json devenv.* Brewfile hatch_build.py pdm_build.py versioneer.py import_map.json esy.json dub.json dub.sdl *.hxml DESCRIPTION **/deps/build.jl
    .ocamlinit *.nims`,
  'builds run it': `
    Makefile* GNUmakefile BSDmakefile *.mk *.mak CMakeLists.txt CMakePresets.json CMakeUserPresets.json *.cmake configure configure.ac configure.in
    autogen.sh meson.build meson_options.txt meson.options SConstruct SConscript wscript waf Jamfile Jamroot *.ninja BUILD BUILD.bazel WORKSPACE
    WORKSPACE.bazel MODULE.bazel *.bzl *.bazelrc BUCK .buckconfig pants.toml Earthfile dagger.json Dockerfile* *.dockerfile Containerfile*
    docker-compose*.y*ml compose*.y*ml docker-bake.* Vagrantfile Tiltfile skaffold.y*ml *.tf *.tf.json *.tfvars *.tofu .terraform/ .terraform.* Pulumi*.yaml
    cdk.json ansible.cfg kustomization.y*ml Chart.yaml *.gradle *.gradle.kts gradle.properties gradlew* **/gradle/wrapper/ **/gradle/*.toml **/buildSrc/
    pom.xml mvnw* .mvn/ build.xml ivy.xml *.sbt **/project/*.scala **/project/build.properties build.sc build.mill build.rs build.zig dune dune-workspace build.yaml premake5.lua
    xmake.lua magefile.go *.csproj *.fsproj *.vbproj *.vcxproj *.props *.targets *.cake build.fsx *.xcodeproj/ *.xcworkspace/ *.xcconfig Tuist/ fastlane/ Fastfile
    Rakefile *.rake Guardfile Capfile Thorfile Dangerfile* Berksfile Puppetfile justfile .justfile *.just Taskfile.* Build.PL gulpfile.* Gruntfile.*
    Jakefile* Cakefile fabfile.py /tasks.py /tasks/__init__.py **/fabfile/__init__.py manage.py artisan **/bin/console **/bin/rails **/tools/bazel **/tools/bazel.bat **/tools/bazel.ps1 dodo.py Snakefile nextflow.config nodemon.json supervisord.conf .air.toml Kbuild Kconfig* Tupfile* Tuprules.tup *.gn *.gni
    *.pro *.pri *.m4 Makevars* configure.win Trunk.toml tauri*.conf.json Cross.toml bacon.toml **/.config/nextest.toml bsconfig.json rescript.json .sbtopts
    .jvmopts *.rsp *.csproj.user *.pubxml electron-builder.* gatsby-config.* gatsby-node.* gatsby-ssr.* .eleventy.* webpack.*.* Brocfile.* brunch-config.*
    *.hcl cdktf.json helmfile.y*ml devspace.yaml okteto.y*ml psakefile.ps1 *.build.ps1 dist.ini RoboFile.php castor.php Eldev Eask dvc.yaml .dvc/ uwsgi.ini
    config.ru _quarto.y*ml _targets.R **/_plugins/*.rb`,
  'test runners, linters or bundlers run it': `
    *.config.js *.config.ts *.config.[cm][jt]s jest.config.* jest.setup.* jest-setup.* jest-global-setup.* setup-jest.* setupJest.* jest.preset.* jest.global* setupTests.* vitest.setup.* vitest-setup.* setup-tests.* vitest.workspace.*
    babel.config.json *.conf.js *.conf.ts *.conf.[cm]js .storybook/ cypress.json tsconfig*.json jsconfig.json angular.json ember-cli-build.js .ember-cli*
    testem.* .dependency-cruiser.* .size-limit.* .markdownlint-cli2.* biome.json* dprint.json* foundry.toml truffle-config.js brownie-config.yaml cucumber.js
    cucumber.yml codecept.json conftest.py pytest.ini tox.ini noxfile.py .flake8 mypy.ini .mypy.ini jupyter_*config.py ipython_config.py phpunit*.xml*
    .phpunit*.xml* phpstan*.neon* psalm*.xml* .php-cs-fixer* phpcs.xml* .phpcs.xml* rector.php ecs.php codeception*.yml behat.y*ml* infection.json*
    grumphp.yml spec_helper.rb rails_helper.rb test_helper.rb .simplecov test_helper.exs .formatter.exs .credo.exs .iex.exs .scalafix.conf .golangci.*
    .swiftlint.yml .busted .sqlfluff .ansible-lint mkdocs.y*ml conf.py book.toml latexmkrc plopfile.* knexfile.* codegen.y*ml typedoc.js* .jsdoc.js*
    jsdoc.js* .cmake-format.py .pytest.ini pytest.toml .pytest.toml pylintrc pylintrc.toml *.conf.py .rspec* .yardopts Appraisals .rubocop*.yml .standard.yml
    .lintr tslint.json .vscode-test.* wallaby.js *.runsettings truffle.js ormconfig.*`,
  [APPROVES]: 'allowed_signers',
  [DOCUMENT]: `
    **/jobs/**/*.md **/jobs/**/*.markdown **/plans/**/*.md **/plans/**/*.markdown review.y*ml`,
};

// A list of patterns is one gitignore, in which the last pattern that matches decides. A comment line is the reason of the patterns below it.

const commentOf = (reason: string): string => `# ${reason}`;
const only = (isFolder: boolean): readonly string[] =>
  Object.entries(PROTECTED).flatMap(([reason, patterns]) => [
    commentOf(reason),
    ...patterns
      .trim()
      .split(/\s+/)
      .filter((pattern) => pattern.endsWith('/') === isFolder),
  ]);
export const DEFAULT_PROTECTED: readonly string[] = [...only(false), FILES_ONLY, ...only(true)];

interface Configured {
  readonly rules: readonly string[];
  readonly protected: readonly string[];
  readonly approvers: string | null;
  /** Commands of the configuration without the test commands, which run the model's files by design. */
  readonly commands: readonly string[];
}
/** Returns all patterns of an `emend.yaml`. The file of approvers comes last, so that no `!` of the configuration can remove it. */
export const protectedBy = (settings: Configured): readonly string[] => [
  ...DEFAULT_PROTECTED,
  ...[commentOf(OBEYED), ...settings.rules.map(exactly)],
  ...[
    commentOf('a command in emend.yaml uses it'),
    ...settings.commands.flatMap((command) => namedIn(command, '')),
    FILES_ONLY,
  ],
  ...[commentOf('`protected` in emend.yaml lists it'), ...settings.protected],
  ...(settings.approvers === null ? [] : [commentOf(APPROVES), exactly(settings.approvers)]),
];

/** Returns the patterns of the files that the scripts of a manifest name. `path` is the path of the manifest. */
export const namedByScripts = (path: string, source: string): readonly string[] => {
  const scripts = scriptsOf(source);
  const fileNames = scripts.flatMap((script) => namedIn(script, posix.dirname(path)));
  if (fileNames.length === 0) return [];
  const patterns =
    fileNames.length > NAMED_FILES ? [everythingIn(posix.dirname(path))] : new Set(fileNames);
  return [commentOf(`a script in ${path} uses it`), ...patterns, FILES_ONLY];
};

/** Returns the patterns of the files inside the workspace that the git configuration uses, such as hooks. */
export const namedByGit = (paths: readonly string[]): readonly string[] =>
  paths.length === 0
    ? []
    : [commentOf("git's configuration uses it"), ...paths.map(exactly), FILES_ONLY];

const scriptsOf = (source: string): readonly string[] => {
  try {
    const manifest: unknown = JSON.parse(source.replace(/^\uFEFF/, ''));
    const scripts =
      isRecord(manifest) && isRecord(manifest.scripts)
        ? Object.values(manifest.scripts).flat()
        : [];
    return scripts.filter((script) => typeof script === 'string');
  } catch {
    return [];
  }
};

const PATH_CHARS = 4_096; // bound: Characters of a word that may name a file. The kernel does not open a longer path.
const FOLDERS = 20; // bound: Folders that one command enters by `cd` and in which Emend looks for the files that it names.
const NAMED_FILES = 2_000; // bound: Patterns for files that the scripts of one manifest, or one command, name. If they name more, all files below its folder are protected.

const RUNS_FILES =
  /^(?:node|nodemon|tsx|ts-node|bun|deno|(?:ba|z)?sh|python3?|perl|ruby|php|source)$/;

/**
 * Returns the patterns of the files that a command may run. A word may name a file if it contains a slash or a dot, or if it follows an
 * interpreter: `node scripts/build` runs `scripts/build.js`.
 */
const namedIn = (command: string, folder: string): readonly string[] => {
  const patterns: string[] = [];
  const folders = [folder];
  let before = '';
  for (const word of wordsOf(command)) {
    if (word.length >= PATH_CHARS) continue;
    const isRun = RUNS_FILES.test(before);
    if (before === 'cd') folders.push(posix.join(folder, word));
    if (folders.length > FOLDERS || patterns.length > NAMED_FILES) return [everythingIn(folder)];
    // Options do not end the search: `node --enable-source-maps build` also runs `build`.
    if (!(isRun && word.startsWith('-'))) before = word;
    const name = word.replace(/^-.*=/, '');
    if (name.startsWith('-') || name.startsWith('/') || !(isRun || /[./]/.test(name))) continue;
    for (const directory of folders) patterns.push(...filesOf(posix.join(directory, name), isRun));
  }
  return patterns;
};

const everythingIn = (folder: string): string =>
  folder === '' || folder === '.' ? '/**' : `${exactly(folder)}/**`;

/** Splits a command into words. A quoted text is one word, and may also be a command with words of its own. */
const wordsOf = (command: string): readonly string[] =>
  [...command.matchAll(/"([^"]*)"|'([^']*)'|[^\s"';&|()<>]+/g)].flatMap(
    ([word, double, single]) => {
      const inner = double ?? single;
      if (inner === undefined) return [word];
      return /\s/.test(inner) ? [inner, ...inner.split(/\s+/)] : [inner];
    },
  );

const filesOf = (path: string, isRun: boolean): readonly string[] => {
  if (path.startsWith('..')) return [];
  const index = isRun ? [`${path === './' || path === '.' ? '' : exactly(path)}/index.*`] : [];
  if (/^\.?\/?$/.test(path)) return index;
  return [exactly(path), ...(posix.extname(path) === '' ? [`${exactly(path)}.*`] : []), ...index];
};

/** Returns a pattern that matches only this path. */
const exactly = (path: string): string =>
  `/${posix.normalize(path).replace(/[\\*?[\]! ]/g, '\\$&')}`;

const readPatterns = (patterns: readonly string[]) => {
  const groups = [{ reason: '', matcher: ignore() }];
  for (const pattern of patterns)
    if (pattern.startsWith('# ')) groups.push({ reason: pattern.slice(2), matcher: ignore() });
    else if (!pattern.startsWith('!')) groups.at(-1)?.matcher.add(pattern);
  return {
    key: patterns.join('\n'),
    isForbidden: forbiddenBy(patterns),
    all: ignore().add([...patterns]),
    groups,
  };
};
/** The patterns of the latest call. Reading them takes milliseconds, and a run checks many files of one workspace against the same list. */
let last = readPatterns([]);
/** Returns a function that gives the reason for which these patterns protect a path, in any letter case, or null if they do not. */
export const whyProtected = (patterns: readonly string[]): ((path: string) => string | null) => {
  if (last.key !== patterns.join('\n')) last = readPatterns(patterns);
  const { isForbidden, all, groups } = last;
  return (path) => {
    const folded = foldedPath(path);
    const matchesFolded = folded !== '' && all.ignores(folded);
    const name = path !== '' && isForbidden(path) ? path : folded;
    if (name === folded && !matchesFolded) return null;
    return groups.findLast(({ matcher }) => matcher.ignores(name))?.reason ?? '';
  };
};

/**
 * Returns the path as the file systems of Windows and macOS compare it. They ignore letter case, some characters, the name of a stream, and
 * dots and blanks at the end of a name.
 */
const foldedPath = (path: string): string =>
  path
    .normalize('NFC')
    .toUpperCase()
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .split('/')
    .map((name) => name.replace(/:.*$/, '').replace(/[. ]+$/, ''))
    .filter((name) => name !== '')
    .join('/');
