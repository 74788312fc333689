# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# probekit_add_bpf(NAME SOURCE)
#
# Compiles the handlers in SOURCE to an object and wraps it in a skeleton
# header. Gives the INTERFACE target probekit_bpf_NAME, whose users may
# #include "NAME.skel.h".
#
# The kernel's types come from PROBEKIT_VMLINUX_BTF, a file with the BTF of the
# kernel that the handlers are for; never that of the build machine by chance.

set(PROBEKIT_VMLINUX_BTF "${PROBEKIT_KERNEL_DIR}/vmlinux" CACHE FILEPATH
    "BTF of the kernel that the handlers are built for")

# Cached: a parent project calls the function from a scope of its own.
set(_probekit_vmlinux_dir "${CMAKE_BINARY_DIR}/vmlinux" CACHE INTERNAL "")
add_custom_command(
  OUTPUT "${_probekit_vmlinux_dir}/vmlinux.h"
  COMMAND ${CMAKE_COMMAND} -E make_directory "${_probekit_vmlinux_dir}"
  COMMAND "${PROBEKIT_BPFTOOL}" btf dump file "${PROBEKIT_VMLINUX_BTF}" format c
          > "${_probekit_vmlinux_dir}/vmlinux.h"
  DEPENDS "${PROBEKIT_VMLINUX_BTF}"
  COMMENT "Generating vmlinux.h" VERBATIM)
add_custom_target(probekit_vmlinux DEPENDS "${_probekit_vmlinux_dir}/vmlinux.h")

set(_probekit_bpf_include "${PROJECT_SOURCE_DIR}/include" CACHE INTERNAL "")
set(_probekit_libbpf_include "${LIBBPF_INCLUDE_DIRS}" CACHE INTERNAL "")

function(probekit_add_bpf name source)
  cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE source_path)
  set(dir "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  set(raw "${dir}/${name}.raw.o")
  set(object "${dir}/${name}.bpf.o")
  set(skeleton "${dir}/${name}.skel.h")
  file(MAKE_DIRECTORY "${dir}")
  set(includes -I "${_probekit_vmlinux_dir}" -I "${_probekit_bpf_include}"
      -I "${CMAKE_CURRENT_SOURCE_DIR}")
  foreach(dir_ IN LISTS _probekit_libbpf_include)
    list(APPEND includes -I "${dir_}")
  endforeach()
  add_custom_command(
    OUTPUT "${raw}"
    COMMAND "${PROBEKIT_CLANG}" --target=bpf -mcpu=v3 -D__TARGET_ARCH_x86
            -O2 -g -Wall -Wextra -Werror -Wno-unused-parameter ${includes}
            -MD -MT "${raw}" -MF "${raw}.d" -c "${source_path}" -o "${raw}"
    DEPENDS "${source_path}" probekit_vmlinux "${_probekit_vmlinux_dir}/vmlinux.h"
    DEPFILE "${raw}.d" COMMENT "Compiling handlers ${name}" VERBATIM)
  add_custom_command(
    OUTPUT "${object}" "${skeleton}"
    COMMAND "${PROBEKIT_BPFTOOL}" gen object "${object}" "${raw}"
    COMMAND "${PROBEKIT_BPFTOOL}" gen skeleton "${object}" name ${name}_bpf
            > "${skeleton}"
    DEPENDS "${raw}" COMMENT "Generating ${name}.skel.h" VERBATIM)
  add_custom_target(probekit_bpf_${name}_files DEPENDS "${object}" "${skeleton}")
  add_library(probekit_bpf_${name} INTERFACE)
  target_include_directories(probekit_bpf_${name} SYSTEM INTERFACE "${dir}")
  target_include_directories(probekit_bpf_${name} INTERFACE "${CMAKE_CURRENT_SOURCE_DIR}")
  target_link_libraries(probekit_bpf_${name} INTERFACE probekit_libbpf)
  add_dependencies(probekit_bpf_${name} probekit_bpf_${name}_files)
endfunction()
