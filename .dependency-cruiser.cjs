/** The arrows of the house (docs/architecture.md). A rule that cannot fail is no rule: test/structure proves that each fires. */
const own = '^(src/|(worker|client)[.]ts$)';
const only = (name, from, allowed) => ({
  name,
  severity: 'error',
  from: { path: from },
  to: { path: own, pathNot: [from, ...allowed].map((p) => p) },
});

const folders = (...names) => names.map((name) => `^src/${name}/`);

module.exports = {
  forbidden: [
    only('shared-alone', '^src/shared/', []),
    only('edits-pure', '^src/edits/', folders('shared')),
    only('syntax-port', '^src/syntax/', folders('shared', 'edits')),
    only('documents-pure', '^src/documents/', folders('shared')),
    only('system-floor', '^src/system/', folders('shared')),
    only('stores-port', '^src/stores/', folders('shared', 'system')),
    only(
      'workspace-port',
      '^src/workspace/',
      folders('shared', 'system', 'stores', 'edits', 'documents'),
    ),
    only('model-port', '^src/model/', folders('shared', 'edits', 'system', 'stores')),
    only('activities-arrows', '^src/activities/', [
      ...folders(
        'shared',
        'edits',
        'syntax',
        'documents',
        'model',
        'workspace',
        'stores',
        'system',
      ),
    ]),
    {
      name: 'adapters-in-worker',
      comment: 'activities work with ports; src/worker/adapters.ts names their adapters',
      severity: 'error',
      from: { path: '^src/activities/' },
      to: {
        path: '^src/(stores/(?!ports[.]ts$)|model/(index[.]ts$|anthropic/)|workspace/(apply|git|landing|checkout)/)',
        dependencyTypesNot: ['type-only'],
      },
    },
    only('temporal-port', '^src/temporal/', folders('shared', 'system', 'stores')),
    only('client-arrows', '^src/client/', [
      ...folders(
        'shared',
        'edits',
        'documents',
        'model',
        'workspace',
        'stores',
        'system',
        'temporal',
      ),
    ]),
    only('web-arrows', '^src/web/', folders('shared', 'edits', 'client')),
    {
      name: 'page-as-types',
      comment:
        'the page runs in a browser: of the rest it uses types, what `shared` says of answers, and what `edits` reads in a sealed diff',
      severity: 'error',
      from: { path: '^src/web/page/' },
      to: {
        path: '^src/',
        pathNot: '^src/(web/page|shared)/|^src/edits/proposal/index[.]ts$',
        dependencyTypesNot: ['type-only'],
      },
    },
    only('workflows-arrows', '^src/workflows/', folders('shared')),
    {
      name: 'step-and-plan-apart',
      comment: 'both stand on workflows/frame; a phase is a step by its name and its input',
      severity: 'error',
      from: { path: '^src/workflows/(step|plan)/' },
      to: { path: '^src/workflows/(step|plan)/', pathNot: '^src/workflows/$1/' },
    },
    {
      name: 'step-knows-no-plan',
      comment: 'a step is complete without plans; a plan is built on steps',
      severity: 'error',
      from: { path: '^src/(activities|workflows)/step/' },
      to: {
        path: '^src/(activities|workflows|documents)/plan/|^src/shared/(plan|plan-activities|replan-activities)[.]ts$',
      },
    },
    {
      name: 'stages-on-selectors',
      comment:
        'selectors, changes and ways between stages are what stages are made of: they know no stage',
      severity: 'error',
      from: {
        path: '^src/workflows/(step|plan)/(state|protocol|selectors|ledger|ways|spending|commands|inputs)[.]ts$',
      },
      to: { path: '^src/workflows/(step|plan)/stages/' },
    },
    {
      name: 'reducer-on-stages',
      comment: 'a stage knows neither the reducer nor what a run shows',
      severity: 'error',
      from: { path: '^src/workflows/(step|plan)/stages/' },
      to: { path: '^src/workflows/(step|plan)/(workflow|reduce|decide|move|views)[.]ts$' },
    },
    {
      name: 'through-the-door',
      comment: 'what a folder with a door has inside is its own',
      severity: 'error',
      from: { path: '^(?:src/([^/]+)/|(?:worker|client)[.]ts$)' },
      to: {
        path: '^src/(edits|syntax|activities|workflows|worker)/.+',
        pathNot: ['^src/$1/', '/index[.]ts$', '^src/edits/internal[.]ts$'],
      },
    },
    {
      name: 'inner-doors',
      comment:
        'the rooms of these areas have doors of their own; files of the area itself are public',
      severity: 'error',
      from: { path: '^(?:src/([^/]+)/|(?:worker|client)[.]ts$)' },
      to: {
        path: '^src/(workspace|model|documents|stores)/[^/]+/.+',
        pathNot: [
          '^src/$1/',
          '/index[.]ts$',
          '^src/workspace/landing/',
          '^src/documents/source/',
          '^src/model/(rehearsal/server|journal/calls)[.]ts$',
        ],
      },
    },
    {
      name: 'replay-reads-no-constants',
      comment:
        'a history replays by the rules in its input (src/shared/rules.ts); queries, details and names are not replayed',
      severity: 'error',
      from: {
        path: '^src/(shared|workflows)/',
        pathNot:
          '^src/workflows/(step|plan)/views[.]ts$|^src/workflows/frame/details[.]ts$|^src/shared/(event-text|rules|ids)[.]ts$',
      },
      to: { path: '^src/shared/(limits|bounds)[.]ts$', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'sandbox-no-builtins',
      comment: 'shared and workflows load in the workflow sandbox',
      severity: 'error',
      from: { path: '^src/(shared|workflows)/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'edits-no-io',
      comment: 'the edit engine is pure: bytes in, bytes out',
      severity: 'error',
      from: { path: '^src/(edits|documents)/' },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?(crypto|buffer|path)$' },
    },
    {
      name: 'mcp-decides-nothing',
      comment: 'a coding agent hands changes over; it never answers a decision',
      severity: 'error',
      from: { path: '^src/cli/commands/mcp[.]ts$' },
      to: {
        path: '^src/(client/(index|runs/(decide|plan-runs|start-plan))|cli/(ask-decision|follow|headless|review|commands/decide)|web/)',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'no-circular',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.build.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
