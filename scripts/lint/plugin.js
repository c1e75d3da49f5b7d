/**
 * Lint rules of this project that no library has. `.oxlintrc.jsonc` loads them as the plugin `emend`, so that an editor shows them, too.
 */

/** Names from rule 7 of the style guide: participles and function words that do not say what a value is. */
const VAGUE_NAMES = new Set([
  'told',
  'said',
  'asked',
  'made',
  'held',
  'left',
  'wanted',
  'given',
  'each',
  'of',
  'by',
  'at',
  'why',
  'now',
]);

/** Collects the identifiers that a pattern declares: `a`, `{ a, b: c }`, `[a]`, `a = 1`, `...a`. */
const declaredIn = (pattern) => {
  switch (pattern?.type) {
    case 'Identifier':
      return [pattern];
    case 'ObjectPattern':
      return pattern.properties.flatMap((property) =>
        declaredIn(property.type === 'RestElement' ? property : property.value),
      );
    case 'ArrayPattern':
      return pattern.elements.flatMap(declaredIn);
    case 'AssignmentPattern':
      return declaredIn(pattern.left);
    case 'RestElement':
      return declaredIn(pattern.argument);
    case 'TSParameterProperty':
      return declaredIn(pattern.parameter);
    default:
      return [];
  }
};

const declaredName = {
  create: (context) => {
    const check = (identifiers) => {
      for (const node of identifiers) {
        if (!VAGUE_NAMES.has(node.name)) continue;
        const message = `\`${node.name}\` does not say what the value is. Use a noun, or a verb for a function.`;
        context.report({ node, message });
      }
    };
    const checkFunction = (node) => {
      check(node.id ? [node.id] : []);
      check(node.params.flatMap(declaredIn));
    };
    const checkKey = (node) => {
      if (!node.computed && node.key.type === 'Identifier') check([node.key]);
    };
    return {
      VariableDeclarator: (node) => check(declaredIn(node.id)),
      FunctionDeclaration: checkFunction,
      FunctionExpression: checkFunction,
      ArrowFunctionExpression: checkFunction,
      CatchClause: (node) => check(declaredIn(node.param)),
      PropertyDefinition: checkKey,
      MethodDefinition: checkKey,
      TSPropertySignature: checkKey,
      TSMethodSignature: checkKey,
    };
  },
};

const literalSpread = {
  create: (context) => ({
    SpreadElement: (node) => {
      const isLiteral =
        node.parent.type === 'ObjectExpression' && node.argument.type === 'ObjectExpression';
      if (!isLiteral) return;
      context.report({
        node,
        message: 'Do not spread an object literal. Give each property its own line.',
      });
    },
  }),
};

export default {
  meta: { name: 'emend' },
  rules: { 'declared-name': declaredName, 'literal-spread': literalSpread },
};
