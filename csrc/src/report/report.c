/* The public functions that write reports. */
#include "report.h"

#include "../base/sized.h"

#define WIDTH 80
#define LEAST_WIDTH 40

/* Converts the caller's options to the current struct and fills in the defaults. */
static pd_status copy_report_options(const pd_report_options *from, pd_report_options *options,
                                     pd_help *help, pd_error *err) {
  size_t least = PD__SIZE_UP_TO(pd_report_options, color);
  pd_status status = PD_OK;
  *help = (pd_help){.size = sizeof *help, .kind = PD_HELP_ALL, .pattern = ""};
  *options = (pd_report_options){.size = sizeof *options};
  if (from) status = pd__sized_copy_in(from, least, options, sizeof *options, "options", err);
  if (status == PD_OK && options->help) {
    least = PD__SIZE_UP_TO(pd_help, pattern);
    status = pd__sized_copy_in(options->help, least, help, sizeof *help, "help", err);
  }
  if (status == PD_OK && (unsigned)help->kind > PD_HELP_VERSION) {
    status = pd__fail(err, PD_ERR_ARGUMENT, "help->kind is %d, expected %d or less",
                      (int)help->kind, PD_HELP_VERSION);
  }
  if (!help->pattern) help->pattern = "";
  options->help = help;
  options->program = pd__base_name(options->program ? options->program : "program");
  if (options->width == 0) options->width = WIDTH;
  if (options->width < LEAST_WIDTH) options->width = LEAST_WIDTH;
  return status;
}

/* `rows` has every flag; those that the help doesn't list are removed. */
static void write_flag_help(pd__rows *rows, const pd_report_options *options, pd__out *out) {
  pd__rows_remove_modules(rows, options->without);
  pd__rows_filter_for_help(rows, options->help->kind, options->help->pattern, options->program);
  if (options->help->kind == PD_HELP_XML) {
    pd__xml_write(rows, options, out);
  } else {
    pd__rows_sort_groups(rows, options->first, options->program);
    pd__help_write(rows, options, out);
  }
}

pd_status pd_report_help(const pd_report_options *from, pd_writer write, void *context,
                         pd_error *err) {
  if (!write) return pd__fail_null(err, "write");
  pd_report_options options;
  pd_help help;
  pd__rows rows = {.count = 0};
  PD__OPERATION(operation);
  pd__out out = {.arena = &operation.arena};
  pd_status status = copy_report_options(from, &options, &help, err);
  if (status != PD_OK) return status;
  if (help.kind == PD_HELP_VERSION) {
    const char *version = options.version ? options.version : "";
    pd__out_add_format(&out, "%s%s%s\n", options.program, *version ? " version " : "", version);
  } else if (pd__rows_collect(&rows, false, &operation.arena)) {
    write_flag_help(&rows, &options, &out);
  } else {
    return pd__fail_memory(err);
  }
  return pd__out_send_to_writer(&out, &operation, write, context, err);
}

pd_status pd_report_flagfile(bool all, pd_writer write, void *context, pd_error *err) {
  if (!write) return pd__fail_null(err, "write");
  pd__rows rows = {.count = 0};
  PD__OPERATION(operation);
  pd__out out = {.arena = &operation.arena};
  if (!pd__rows_collect(&rows, false, &operation.arena)) return pd__fail_memory(err);
  pd__rows_sort_groups(&rows, NULL, "");
  pd__flagfile_write(&rows, all, &out);
  return pd__out_send_to_writer(&out, &operation, write, context, err);
}

pd_status pd_report_json(const pd_report_options *from, pd_writer write, void *context,
                         pd_error *err) {
  if (!write) return pd__fail_null(err, "write");
  pd_report_options options;
  pd_help help;
  pd__rows rows = {.count = 0};
  PD__OPERATION(operation);
  pd__out out = {.arena = &operation.arena};
  pd_status status = copy_report_options(from, &options, &help, err);
  if (status != PD_OK) return status;
  if (!pd__rows_collect(&rows, true, &operation.arena)) return pd__fail_memory(err);
  pd__json_write_report(&rows, &options, &out);
  return pd__out_send_to_writer(&out, &operation, write, context, err);
}
