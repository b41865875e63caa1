// Stands in for modules that are imported but never used in the bundled command.
export default {};
