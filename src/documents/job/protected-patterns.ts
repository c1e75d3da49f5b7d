/** The patterns of the files that are protected in every project, by the reason for which they are protected. */
import { FILES_ONLY } from '../source/patterns.js';

export const OBEYED = 'models and agents follow it';

export const APPROVES = 'it defines who may approve';

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

export const commentOf = (reason: string): string => `# ${reason}`;

const only = (isFolder: boolean): readonly string[] =>
  Object.entries(PROTECTED).flatMap(([reason, patterns]) => [
    commentOf(reason),
    ...patterns
      .trim()
      .split(/\s+/)
      .filter((pattern) => pattern.endsWith('/') === isFolder),
  ]);

/**
 * The default list. A list of patterns is one gitignore, in which the last pattern that matches decides. A comment line is the reason of the
 * patterns below it.
 */
export const DEFAULT_PROTECTED: readonly string[] = [...only(false), FILES_ONLY, ...only(true)];
