import { describe, expect, test } from '@jest/globals';
import { parseConfig } from '../../../src/documents/job/config.js';
import { DEFAULT_PROTECTED } from '../../../src/documents/job/protected-patterns.js';
import { namedByScripts, whyProtected } from '../../../src/documents/job/protected-paths.js';

const why = whyProtected(DEFAULT_PROTECTED);
const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/** The list of issue 20. */
const OF_THE_ISSUE = words(`
  .cargo/config.toml gradlew gradle/wrapper/gradle-wrapper.jar gradle/wrapper/gradle-wrapper.properties build.gradle build.gradle.kts
  settings.gradle settings.gradle.kts pom.xml mvnw jest.setup.js jest.setup.ts vite.config.js vite.config.cjs vite.config.mjs
  vite.config.ts conftest.py setup.py noxfile.py tox.ini Makefile CMakeLists.txt .envrc .husky/pre-commit .claude/settings.json .mcp.json
  .cursor/rules/a.mdc .vscode/tasks.json .idea/workspace.xml .devcontainer/devcontainer.json Dockerfile Dockerfile.dev .gitlab-ci.yml
  .gitattributes .gitmodules .npmrc .yarnrc .yarnrc.yml package-lock.json yarn.lock pnpm-lock.yaml Cargo.lock poetry.lock go.sum
  Gemfile.lock composer.lock uv.lock emend.yaml CLAUDE.md AGENTS.md allowed_signers`);

/** Files of the same kind beyond that list: some tool runs what stands in them, or a program that they name, unasked. */
const OF_THE_SAME_KIND = words(`
  .azuredevops/ci.yml .zuul.d/jobs.yaml .mergify.yml jitpack.yml vercel.ts appspec.yml .platform/hooks/predeploy/a.sh .ebextensions/a.config
  .profile.d/a.sh railway.toml .release-it.json .changeset/config.json .coderabbit.yaml .hooks/pre-commit git-hooks/pre-push githooks/pre-commit
  simple-git-hooks.cjs .cz-config.js .hg/hgrc .ycm_extra_conf.py .lazy.lua .replit .env hie.yaml startup.m .config/mise/config.toml aqua.yaml
  Properties/launchSettings.json .agent/rules/a.md .aiassistant/rules/a.md .claude-plugin/plugin.json mcp_config.json hatch_build.py versioneer.py
  dub.json dub.sdl build.hxml DESCRIPTION deps/build.jl .ocamlinit a.nims Kconfig.debug Tupfile.lua BUILD.gn a.gni app.pro m4/a.m4 src/Makevars
  Trunk.toml src-tauri/tauri.conf.json Cross.toml .config/nextest.toml rescript.json .jvmopts Directory.Build.rsp a.csproj.user a.pubxml
  electron-builder.yml gatsby-node.js .eleventy.js webpack.common.js cdktf.json packer.pkr.hcl helmfile.yaml psakefile.ps1 RoboFile.php dvc.yaml
  uwsgi.ini config.ru _quarto.yml _plugins/a.rb pytest.toml pylintrc gunicorn.conf.py .rspec-local .yardopts .rubocop_todo.yml .lintr .vscode-test.mjs
  wallaby.js jest.preset.js a.runsettings
  .github/workflows/ci.yml .github/actions/a/action.yml .circleci/config.yml Jenkinsfile azure-pipelines.yml .buildkite/pipeline.yml
  .drone.yml .cirrus.yml appveyor.yml bitbucket-pipelines.yml .woodpecker.yml .woodpecker/build.yml .forgejo/workflows/a.yml
  cloudbuild.yaml buildspec.yml .readthedocs.yaml netlify.toml vercel.json Procfile fly.toml serverless.yml wrangler.toml
  .releaserc .goreleaser.yaml renovate.json
  .pre-commit-config.yaml lefthook.yml .lintstagedrc.json .overcommit.yml .githooks/pre-push captainhook.json .gitconfig
  app.code-workspace .zed/tasks.json .gitpod.yml .bashrc .bash_profile .zshrc .zshenv .profile .vimrc .exrc .nvim.lua .dir-locals.el
  .emacs app.sublime-project .gdbinit .lldbinit app-gdb.py mise.toml .tool-versions rust-toolchain.toml .helix/languages.toml
  .cursorrules .windsurfrules .clinerules .aider.conf.yml .codex/config.toml GEMINI.md .gemini/settings.json .roo/mcp.json opencode.json
  package.json npm-shrinkwrap.json pnpm-workspace.yaml .pnpmfile.cjs .yarn/releases/yarn.cjs .pnp.cjs bunfig.toml deno.json deno.jsonc
  lerna.json nx.json project.json turbo.json pyproject.toml setup.cfg requirements.txt requirements-dev.txt constraints.txt Pipfile
  environment.yml sitecustomize.py usercustomize.py .pythonstartup hooks.pth pixi.toml Cargo.toml build.rs go.mod go.work Gemfile
  emend.gemspec .irbrc .bundle/config composer.json .user.ini .htaccess mix.exs rebar.config stack.yaml cabal.project emend.cabal Setup.hs
  .ghci dune dune-project emend.opam Package.swift Podfile emend.podspec fastlane/Fastfile pubspec.yaml build.sbt project/plugins.sbt
  project/Build.scala deps.edn project.clj bb.edn Emend.csproj Directory.Build.props Directory.Build.targets nuget.config
  .config/dotnet-tools.json conanfile.py vcpkg.json build.zig build.zig.zon cpanfile Makefile.PL .Rprofile renv.lock Project.toml
  flake.nix shell.nix default.nix flake.lock devbox.json Brewfile
  GNUmakefile rules.mk configure configure.ac autogen.sh meson.build SConstruct wscript build.ninja BUILD BUILD.bazel WORKSPACE
  MODULE.bazel defs.bzl .bazelrc BUCK pants.toml Earthfile api.dockerfile Containerfile docker-compose.yml docker-compose.test.yaml
  compose.yaml docker-bake.hcl Vagrantfile Tiltfile skaffold.yaml main.tf main.tf.json prod.tfvars .terraform/providers/x
  .terraform.lock.hcl Pulumi.yaml cdk.json ansible.cfg gradlew.bat gradle.properties app.gradle mvnw.cmd .mvn/extensions.xml build.xml
  Rakefile db.rake Guardfile Capfile Dangerfile justfile .justfile Taskfile.yml Taskfile.dist.yaml magefile.go gulpfile.js Gruntfile.js
  Jakefile fabfile.py dodo.py Snakefile nodemon.json supervisord.conf CMakePresets.json deps.cmake xmake.lua premake5.lua
  .eslintrc.js .eslintrc.json eslint.config.js .babelrc babel.config.json .mocharc.yml .mocharc.cjs .prettierrc.js .stylelintrc.cjs
  .swcrc .nycrc tsconfig.json jsconfig.json karma.conf.js wdio.conf.ts protractor.conf.js cypress.config.ts cypress.json
  playwright.config.ts vitest.workspace.ts vitest.setup.ts .storybook/main.js metro.config.js webpack.config.js rollup.config.mjs
  angular.json ember-cli-build.js testem.js dprint.json foundry.toml truffle-config.js cucumber.js pytest.ini .pylintrc .flake8 mypy.ini
  .coveragerc phpunit.xml .phpunit.xml phpunit.xml.dist phpstan.neon psalm.xml .php-cs-fixer.php rector.php behat.yml .rspec
  spec_helper.rb .rubocop.yml .formatter.exs .credo.exs .iex.exs .golangci.yml .air.toml .luacheckrc mkdocs.yml docs/conf.py book.toml
  latexmkrc plopfile.js knexfile.js codegen.yml typedoc.json .jsdoc.json
  requirements/dev.txt dev-requirements.txt tools/bazel .mise-tasks/build .autoenv .autoenv.zsh debian/rules PKGBUILD Fastfile .run/app.run.xml
  .theia/tasks.json project/build.properties docker-entrypoint.sh docker-entrypoint.d/10.sh manage.py jest-setup.js compile_commands.json
  docker-entrypoint-initdb.d/1.sql entrypoint.sh debian/postinst debian/app.prerm APKBUILD a.ebuild a.SlackBuild app.spec snapcraft.yaml
  mise-tasks/build mise/tasks/a .config/mise/tasks/a .autoenv.leave .env.leave .nova/Tasks/a.json .lapce/run.toml .externalToolBuilders/a.launch
  App.launch compile_flags.txt .clangd .ccls fabfile/__init__.py artisan bin/console bin/rails tools/bazel.bat tools/bazel.ps1
  jest-global-setup.js setup-jest.ts setupJest.js vitest-setup.ts setup-tests.js`);

/** F8: the names of the adversary's table, as it wrote them, and siblings of the same tools. */
const OF_F8 = words(`
  jobs/a.md plans/a.md requirements/dev.txt dev-requirements.txt tools/bazel .mise-tasks/a .autoenv debian/rules PKGBUILD Fastfile
  .run/a.run.xml .theia/a project/build.properties docker-entrypoint.sh tasks.py tasks/__init__.py manage.py jest-setup.js
  compile_commands.json`);

/** Documents that Emend itself obeys: they name commands, switch the sandbox off or approve changes. */
const OF_EMEND = words(`
  jobs/b.md jobs/nightly/b.markdown plans/release.md plans/2026/release.md review.yaml review.yml`);

/** Everyday files, some with a word in common with a pattern: no change to one is held up. */
const ORDINARY = words(`
  src/a.ts src/index.js README.md docs/usage.md test/a.test.ts src/config.ts src/build/index.ts build/a.o.txt src/workspace/files.ts
  lib/configure/index.js src/targets/a.rs src/dune/map.c src/profile/page.tsx src/project/view.tsx src/makefile/parse.ts styles/main.css
  public/index.html src/package.ts src/arc/a.ts src/src.ts .env.example src/tasks.py lib/user.rb cmd/main.go
  src/main/java/App.java data/a.json data/requirements.md src/gradle/plugin.kt src/jest.ts app/jobs/mail_job.rb src/plans/price.ts docs/jobs.md
  src/review.ts requirements/README.md tools/bazel.md debian/changelog src/tasks/__init__.py src/a.spec.ts spec/a_spec.rb
  bin/console.md src/entrypoint.ts debian/README src/mise/tasks.ts`);

describe('what some tool runs unasked is protected', () => {
  test('the lists are as long as they should be, and say nothing twice', () => {
    expect(OF_THE_SAME_KIND.length).toBeGreaterThan(75);
    const all = [...OF_THE_ISSUE, ...OF_THE_SAME_KIND, ...OF_EMEND, ...ORDINARY];
    expect(all.filter((path, at) => all.indexOf(path) !== at)).toEqual([]);
  });

  test.each([...OF_THE_ISSUE, ...OF_THE_SAME_KIND, ...OF_EMEND])(
    '%s, deeper too and in any case, with a reason',
    (path) => {
      expect(why(path)).toEqual(expect.stringMatching(/^[A-Za-z].{10,}$/));
      expect(why(`packages/a/${path}`)).toBe(why(path));
      expect(why(path.toUpperCase())).toBe(why(path));
      expect(why(path.toLowerCase())).toBe(why(path));
    },
  );

  test.each(OF_F8)('F8: %s at the top of a workspace', (path) => {
    expect(why(path)).not.toBeNull();
  });

  test.each(OF_EMEND)('%s is a document that Emend obeys', (path) => {
    expect(why(path)).toBe('Emend obeys it');
  });

  test('tasks.py is invoke’s at the top, and a module like any other below it', () => {
    expect(why('tasks.py')).toBe('builds run it');
    expect(why('src/tasks.py')).toBeNull();
  });

  test('ordinary files are not', () => {
    expect(ORDINARY.filter((path) => why(path) !== null)).toEqual([]);
  });

  test.each([
    ['without a character that the file system drops', '.git\u200chub/workflows/a.yml'],
    ['without trailing dots and blanks', 'Makefile. .'],
    ['without the name of a stream', 'package.json::$DATA'],
    ['in its composed form', 'pacKage.json'],
    ['with the long s in capitals', 'package.j\u017fon'],
  ])('a name is compared as Windows and macOS do: %s', (_, path) => {
    expect(why(path)).not.toBeNull();
  });
});

describe('what emend.yaml says of protected paths', () => {
  const whyOf = (yaml: string, path: string): string | null => {
    const read = parseConfig(yaml);
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    return whyProtected(read.value.protected)(path);
  };

  test.each([
    ['protected: [infra/**]', 'infra/a.txt', '`protected` in emend.yaml lists it'],
    ['protected: ["!package.json"]', 'package.json', null],
    ['protected: ["!package.json"]', 'package-lock.json', 'package managers use it'],
    ['protected: ["!.github/"]', '.github/workflows/ci.yml', null],
    ['approvers: keys/who', 'keys/who', 'it defines who may approve'],
    ['approvers: keys/who\nprotected: ["!keys/*"]', 'keys/who', 'it defines who may approve'],
    ['approvers: "keys/[a]*.txt"', 'keys/[a]*.txt', 'it defines who may approve'],
    ['approvers: "keys/[a]*.txt"', 'keys/ab.txt', null],
    ['rules: [docs/style.md]', 'docs/style.md', 'models and agents follow it'],
    [
      'formatCommand: node tools/format.js {file}',
      'tools/format.js',
      'a command in emend.yaml uses it',
    ],
    ['worktree: { setup: ./tools/setup.sh }', 'tools/setup.sh', 'a command in emend.yaml uses it'],
    // Tests run what a model wrote by design; docs/configuration.md says so.
    ['test: node --check a.js', 'a.js', null],
  ])('%j: %s', (yaml, path, expected) => {
    expect(whyOf(yaml, path)).toBe(expected);
  });
});

describe('files that scripts of package.json name', () => {
  const named = (manifest: string, scripts: unknown): readonly string[] =>
    [
      'scripts/build.js',
      'scripts/build.sh',
      'scripts/index.js',
      'server.mjs',
      'a b.js',
      'src/index.ts',
      'src/a.ts',
    ]
      .concat([
        'packages/a/scripts/build.js',
        'packages/a/run.js',
        'run.js',
        'x[1].js',
        'x1.js',
        'conf/a.json',
      ])
      .filter(
        (path) =>
          whyProtected(namedByScripts(manifest, JSON.stringify({ scripts })))(path) !== null,
      );

  test.each<[string, unknown, readonly string[]]>([
    ['package.json', { build: 'node scripts/build.js' }, ['scripts/build.js']],
    [
      'package.json',
      { build: 'node ./scripts/build.js --fast && bash scripts/build.sh' },
      ['scripts/build.js', 'scripts/build.sh'],
    ],
    [
      'package.json',
      { build: 'NODE_ENV=x node scripts/build' },
      ['scripts/build.js', 'scripts/build.sh'],
    ],
    ['package.json', { start: 'node scripts' }, ['scripts/index.js']],
    ['package.json', { start: 'node --import=./server.mjs src/a.ts' }, ['server.mjs', 'src/a.ts']],
    [
      'package.json',
      { start: 'jest -c conf/a.json;node server.mjs' },
      ['server.mjs', 'conf/a.json'],
    ],
    ['package.json', { start: 'node "a b.js"' }, ['a b.js']],
    ['package.json', { start: "sh -c 'node x[1].js'" }, ['x[1].js']],
    ['package.json', { start: 'cd packages/a && node run.js' }, ['packages/a/run.js', 'run.js']],
    [
      'packages/a/package.json',
      { start: 'node run.js && node ../../scripts/build.sh' },
      ['scripts/build.sh', 'packages/a/run.js'],
    ],
    // A folder that is linted or compiled is not run, and nothing outside the workspace is of the workspace.
    [
      'package.json',
      { lint: 'eslint src', types: 'tsc -p .', out: 'node ../server.mjs', up: 'node /server.mjs' },
      [],
    ],
    ['package.json', { lint: 'eslint . && prettier --check "**/*.js"' }, []],
    ['package.json', 'node server.mjs', []],
    ['package.json', { build: 3 }, []],
  ])('%s %j', (manifest, scripts, expected) => {
    expect(named(manifest, scripts)).toEqual(expected);
  });

  test('what is no manifest names nothing', () => {
    expect([
      ...namedByScripts('package.json', '{'),
      ...namedByScripts('package.json', '[]'),
    ]).toEqual([]);
  });

  test('the reason says which manifest', () => {
    const patterns = namedByScripts('packages/a/package.json', '{"scripts":{"a":"node run.js"}}');
    expect(whyProtected(patterns)('packages/a/run.js')).toBe(
      'a script in packages/a/package.json uses it',
    );
  });
});

describe('63: a pattern of `protected` that starts with `!`', () => {
  const protection = (pattern: string) => {
    const config = parseConfig(`protected: [${JSON.stringify(pattern)}]\n`);
    if (!config.ok) throw new Error(JSON.stringify(config.problems));
    return whyProtected(config.value.protected);
  };

  test('takes the file out, and none with another letter case', () => {
    const reasonFor = protection('!docs/conf.py');
    expect(reasonFor('docs/conf.py')).toBeNull();
    expect(reasonFor('Docs/conf.py')).toBe('test runners, linters or bundlers run it');
    expect(reasonFor('docs/CONF.py')).toBe('test runners, linters or bundlers run it');
    expect(reasonFor('src/a.py')).toBeNull();
    expect(reasonFor('build/a.js')).toBeNull();
  });

  test('refuses a pattern that fits nothing', () => {
    expect(parseConfig('protected: ["./secret.js"]\n')).toMatchObject({
      ok: false,
      problems: [{ message: expect.stringMatching(/^emend\.yaml:1: .*relative to the workspace/) }],
    });
  });
});
