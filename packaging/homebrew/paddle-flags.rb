# Untried: Homebrew has never built this formula.
class PaddleFlags < Formula
  # The project has no public address yet: HOMEBREW_PADDLE_FLAGS names the source distribution, such
  # as file:///home/me/paddle_flags-0.1.0.tar.gz.
  SOURCE = ENV.fetch("HOMEBREW_PADDLE_FLAGS")

  desc "Registry of run-time flags for Python and every native library of a process"
  homepage SOURCE
  url SOURCE
  license "Apache-2.0"

  depends_on "python-setuptools" => :build
  depends_on "python@3.13" => :build
  depends_on "pkgconf" => :test

  def install
    # Its own directory: the headers that replace gflags/gflags.h must not hide those of gflags.
    ENV["PD_INCLUDEDIR"] = "../include/paddle_flags"
    system "python3.13", "setup.py", "-q", "build_library", "--build-lib", "built"
    (include/"paddle_flags").install Dir["built/include/*"]
    lib.install Dir["built/lib/*"]
    pkgshare.install "examples/consumers"
  end

  test do
    cp_r pkgshare/"consumers", testpath
    system "make", "-C", testpath/"consumers/pkgconfig", "plugin.so", "host"
    shown = shell_output("cd consumers/pkgconfig && ./host ./plugin.so --plugin_factor=3")
    assert_match "level 6, factor 3", shown
  end
end
