// What the compiler does not see: promises nobody waits for, hooks called by chance, words that are never used.
import hooks from "eslint-plugin-react-hooks";
import { defineConfig, globalIgnores } from "eslint/config";
import typescript from "typescript-eslint";

export default defineConfig(
  globalIgnores(["build", "dist"]),
  {
    files: ["**/*.mjs"],
    rules: { "no-unused-vars": "error", eqeqeq: "error", "prefer-const": "error" },
  },
  {
    files: ["src/**/*.{ts,tsx}", "test/**/*.ts"],
    extends: [typescript.configs.recommendedTypeChecked, typescript.configs.stylisticTypeChecked],
    plugins: { "react-hooks": hooks },
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      ...hooks.configs.recommended.rules,
      eqeqeq: ["error", "always", { null: "ignore" }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-floating-promises": [
        "error",
        { allowForKnownSafeCalls: [{ from: "package", package: "node:test", name: "test" }] },
      ],
      // Lists of memos and effects name what they follow, without what is made of it in the same breath.
      "react-hooks/exhaustive-deps": "off",
    },
  },
);
