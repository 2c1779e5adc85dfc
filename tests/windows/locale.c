/* Numbers are read and written without the locale. */
#include <locale.h>
#include <pd_flags.h>
#include <stdio.h>
#include <string.h>

PD_DEFINE_double(share, 0.5, "A share");

int main(void) {
  char text[64];
  pd_flag *flag;
  if (!setlocale(LC_ALL, "German_Germany.1252") || *localeconv()->decimal_point != ',') return 1;
  if (pd_flag_find("share", &flag, NULL) != PD_OK) return 2;
  static const char *const numbers[] = {"1.5", "0.1", "0x1.8p1", "1e-300", "inf"};
  static const double values[] = {1.5, 0.1, 3, 1e-300, __builtin_inf()};
  for (int i = 0; i < 5; i++) {
    if (pd_flag_set_from_string(flag, numbers[i], NULL) != PD_OK) return 3;
    if (FLAGS_share < values[i] || FLAGS_share > values[i]) return 4;
    pd_flag_get_text(flag, text, sizeof text, NULL, NULL);
    if (strchr(text, ',')) return 5;
  }
  if (pd_flag_set_from_string(flag, "1,5", NULL) != PD_ERR_VALUE) return 6;
  puts("ok");
  return 0;
}
